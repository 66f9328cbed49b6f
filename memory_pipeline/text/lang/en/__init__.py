"""English: word lists, stems, lemmas and cue expressions."""

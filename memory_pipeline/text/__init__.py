"""Text analysis: pure functions from texts to tables, plus embedders behind a protocol.

`lang/en` (word lists, stems, lemmas, cues) ← `parse` (tokens, clauses, sentences, dates, entities) ← `embed` and
`score` ← `compare` (judges, merge guard) ← `enrich`. Each result depends on its text alone, so that enriching new
memories equals a rebuild. Not here: comparison of stored vectors (`consolidation/similarity`) and storage (`lake`).
"""

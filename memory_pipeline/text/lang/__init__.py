"""Languages: language packs behind one protocol, and the identification of a text's language."""

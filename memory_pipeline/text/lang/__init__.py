"""Languages: everything that is bound to one language, one package each."""

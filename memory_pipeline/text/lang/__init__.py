"""Languages: what is bound to one language, behind one protocol, and which language a text is in."""

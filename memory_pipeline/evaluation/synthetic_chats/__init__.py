"""Generated conversations with questions and answers, to fit and to measure on."""

"""Generates conversations with questions and answers for fitting and measuring."""

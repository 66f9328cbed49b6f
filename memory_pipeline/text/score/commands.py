"""Finds texts that instruct a language model, and sentences that tell their reader what to do.

Cues are English; texts in other languages are found only by the markup of prompts. Not here: the cues
(`lang/en/command_cues`), and standing instructions that a person gives an agent (`core_facts`).
"""

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import suited
from memory_pipeline.text.lang.en import command_cues
from memory_pipeline.text.parse import tokens


def commands_a_model(texts: pl.Series) -> pl.Series:
    """Return whether each text tries to command a language model, as in "ignore all previous instructions".

    Such a text is stored and recalled like any other, but no summary, fact or core memory is made from it. Only known
    forms are found: this keeps instructions from spreading, and does not prove that a text is harmless. Cost: linear in
    the length of the texts, about 2 s for a million short ones.
    """
    low = tokens.fold(texts)
    return low.str.contains(suited(command_cues.TO_A_MODEL, low))


def instructs_reader(sentences: pl.Series) -> pl.Series:
    """Return whether each sentence tells its reader, or an assistant, what to do; the report of a wish does not."""
    low = tokens.fold(sentences)
    return low.str.strip_chars().str.contains(suited(command_cues.READER, low))


def of_a_platform(texts: pl.Series) -> pl.Series:
    """Return whether each text is a prompt, markup or output of a program rather than what a person said.

    By its form: it tells its reader who they are ("You are ..."), holds tags of a prompt, has all its values in
    brackets, or is code, JSON or a log.
    """
    return texts.fill_null("").str.contains(command_cues.OF_A_PLATFORM)

"""No cache of a process holds on to words that were erased."""

import gc
import sys
from functools import _lru_cache_wrapper

from memory_pipeline import MemoryClient
from memory_pipeline.text import word_cache

WORD = "Quillfeather"


def caches_with(word):
    """Names of the functions whose kept results are about a word."""
    found = set()
    modules = [vars(module) for name, module in sorted(sys.modules.items()) if name.startswith("memory_pipeline.")]
    for cached in (one for names in modules for one in names.values() if isinstance(one, _lru_cache_wrapper)):
        kept = [key for part in gc.get_referents(cached) if isinstance(part, dict) for key in part]
        if any(word.casefold() in str(key).casefold() for key in kept):
            found.add(cached.__qualname__)
    return found


def test_a_function_of_words_is_computed_once_until_it_is_to_forget():
    calls = []

    @word_cache.kept(10)
    def length(word):
        calls.append(word)
        return len(word)

    assert [length("tern"), length("tern")] == [4, 4]
    word_cache.forget()
    assert length("tern") == 4
    assert calls == ["tern", "tern"]


def test_an_erasure_takes_its_words_out_of_every_cache(tmp_path):
    with MemoryClient(tmp_path) as writer, MemoryClient(tmp_path) as reader:
        erased = writer.remember(f"The recipe for {WORD} is as last year.")
        writer.remember("The kettle is new.")
        assert [one.memory_id for one in reader.recall(f"Which recipe for {WORD}?", 1)] == [erased]
        assert caches_with(WORD)
        writer.erase(erased, reason="asked for")
        assert not caches_with(WORD)
        reader.recall("What is new?")
        assert not caches_with(WORD)

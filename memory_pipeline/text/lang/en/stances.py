"""Words by which a statement denies, limits, doubts or intends something.

Closed classes of English, as patterns over folded text, for facts worded by a model. Not here: cues of change
(`relation_cues`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory_pipeline.text.lang.en.cues import any_of


def _any_of(expressions: str) -> str:
    return any_of(expressions).replace("(?-u:\\b)", r"\b")


STANCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "denied": _any_of(
            "not; no; never; none; nobody; nothing; nowhere; neither; nor; cannot; [a-z]+n't; hardly; without"
            "; instead of; rather than; refuses?; refused; dislikes?; hates?; detests?; avoids?; lacks?"
        ),
        "ended": _any_of(
            "no longer; any ?more; any longer; used to; formerly; former; stopped; quit; gave up; given up"
            "; cancel(?:l?ed); called off"
        ),
        "resumed": _any_of("again; once more; back to; resumed?; resumes; restarted; reopened"),
        "conditional": _any_of("if; unless; when(?:ever)?; provided; in case; as long as; except; only"),
        "doubted": _any_of(
            "might; could; would(?! (?:like|love|rather|prefer)); should; maybe; perhaps; probably; possibly"
            "; apparently; allegedly; supposedly; almost"
            "; nearly; hop(?:e|es|ed|ing); think(?:s|ing)?; thought; guess(?:es|ed)?; believes?; believed; suppose[sd]?"
            "; dream(?:s|ed|t)?; imagin(?:e|es|ed); wish(?:es|ed)?; doubts?; suspect(?:s|ed)?; pretend(?:s|ed)?"
            "; may (?:be|have|not|also|still|well|get|go|come|take|need|want|leave|move|stay|sell|buy|start|stop|quit)"
            "; joked?; joking; kidding; suggest(?:s|ed)?; consider(?:s|ed|ing)?"
        ),
        "reported": _any_of("said; says?; told; tells; heard; according to; claim(?:s|ed)?; rumou?rs?; wrote; asked"),
        "intended": _any_of(
            "will; won't; shall; [a-z]+'ll; going to; gonna; plan(?:s|ned|ning)?; intends?; intended; want(?:s|ed)? to"
            "; (?:would|[a-z]+'d) (?:like|love)(?: [a-z]+){0,3} to"
            "; tr(?:y|ies|ied|ying) to; supposed to; promis(?:e|es|ed)"
        ),
    }
)
"""Stances other than plain statement, and the pattern of each."""
PASSING: Final = _any_of(
    "while; until; till; as soon as; once(?! (?:a|an|every|per|in)); before; after; temporarily; for now"
)
"""The scope of a fact, where another wording may leave it out."""

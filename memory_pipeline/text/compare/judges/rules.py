"""The judge by words: the linear model of relations, which needs no vectors."""

from typing import Final

from memory_pipeline.text.compare.judge import RelationJudge
from memory_pipeline.text.compare.relation_model import WordModel

JUDGE: Final[RelationJudge] = WordModel()

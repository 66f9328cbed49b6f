"""The judge by rules: the fitted model of relations, without a language model."""

from typing import Final

from memory_pipeline.text.compare.judge import RelationJudge
from memory_pipeline.text.compare.relation_model import RelationModel

JUDGE: Final[RelationJudge] = RelationModel()

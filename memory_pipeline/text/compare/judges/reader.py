"""The default judge: trees over words and the reader's vectors."""

from typing import Final

from memory_pipeline.text.compare.judge import RelationJudge
from memory_pipeline.text.compare.relation_model import ReaderModel

JUDGE: Final[RelationJudge] = ReaderModel()

"""Japanese: letters and their pairs stand for words. No rules: nothing is judged."""

from typing import Final

from memory_pipeline.text.lang.pack import WEEKDAYS
from memory_pipeline.text.lang.unspaced import DATED, UnspacedPack

PACK: Final = UnspacedPack(
    code="ja",
    function_letters=frozenset(
        "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげご"
        "ざじずぜぞだぢづでどばびぶべぼぱぴぷぺぽっゃゅょぁぃぅぇぉ何"
    ),
    date_words=DATED
    | {"今日": "today", "昨日": "yesterday", "明日": "tomorrow"}
    | {f"{day}曜": english for day, english in zip("月火水木金土日", WEEKDAYS, strict=True)},
    question_words={
        "いつ": "what date",
        "何日": "what date",
        "何時": "what time",
        "どこ": "where",
        "誰": "who",
        "だれ": "who",
        "いくつ": "how many",
        "何人": "how many",
        "いくら": "how much",
        "なぜ": "why",
        "どうして": "why",
        "今の": "current",
        "現在": "currently",
        "以前": "before",
    },
    negations=frozenset({"ない", "ません", "なかっ", "ず", "ぬ"}),
)

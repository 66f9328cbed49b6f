"""Japanese: characters and pairs of characters serve as words. No rules judge Japanese texts."""

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
    safety="アレルギー|糖尿病|インスリン|喘息|てんかん|妊娠|薬|錠剤|ミリグラム|血圧|血液型|ワクチン|緊急|ハラール|禁止|厳禁"
    "|てはいけ|弁護士|裁判|ビザ|パスポート|ローン|請求書|税金|保険|支払",
    negations=frozenset({"ない", "ません", "なかっ", "ず", "ぬ"}),
)

"""Japanese: letters and their pairs stand for words. No rules: nothing is judged."""

from typing import Final

from memory_pipeline.text.lang.unspaced import UnspacedPack

PACK: Final = UnspacedPack(
    code="ja",
    function_letters=frozenset(
        "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげご"
        "ざじずぜぞだぢづでどばびぶべぼぱぴぷぺぽっゃゅょぁぃぅぇぉ何"
    ),
    negations=frozenset({"ない", "ません", "なかっ", "ず", "ぬ"}),
)

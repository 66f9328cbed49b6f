"""Chinese: letters and their pairs stand for words. No rules: nothing is judged."""

from typing import Final

from memory_pipeline.text.lang.unspaced import UnspacedPack

PACK: Final = UnspacedPack(
    code="zh",
    function_letters=frozenset(
        "的了着过地得是在有和与及或也都就才还又再很更最太只这那哪此其之我你您他她它们自己谁什么怎样吗呢吧啊呀嘛"
        "把被给让对从到向往于以为因所但而且如果虽然不没无未个们里上下中来去说要会能可该请"
    ),
    negations=frozenset("不没无未别非勿莫"),
)

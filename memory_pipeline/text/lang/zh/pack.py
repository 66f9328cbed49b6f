"""Chinese: characters and pairs of characters serve as words. No rules judge Chinese texts."""

from typing import Final

from memory_pipeline.text.lang.pack import WEEKDAYS
from memory_pipeline.text.lang.unspaced import DATED, UnspacedPack

PACK: Final = UnspacedPack(
    code="zh",
    function_letters=frozenset(
        "的了着过地得是在有和与及或也都就才还又再很更最太只这那哪此其之我你您他她它们自己谁什么怎样吗呢吧啊呀嘛"
        "把被给让对从到向往于以为因所但而且如果虽然不没无未个们里上下中来去说要会能可该请"
    ),
    date_words=DATED
    | {"今天": "today", "昨天": "yesterday", "明天": "tomorrow"}
    | {
        f"{week}{day}": english
        for week in ("周", "星期", "礼拜")
        for day, english in zip("一二三四五六日", WEEKDAYS, strict=True)
    },
    question_words={
        "什么时候": "what date",
        "何时": "what date",
        "哪天": "what date",
        "哪里": "where",
        "哪儿": "where",
        "谁": "who",
        "多少": "how many",
        "几": "how many",
        "多久": "how long",
        "为什么": "why",
        "现在": "now",
        "目前": "currently",
        "如今": "now",
        "以前": "before",
        "之前": "before",
    },
    safety="过敏|糖尿病|胰岛素|哮喘|癫痫|怀孕|孕妇|药|剂量|毫克|血压|血型|疫苗|急救|急诊|清真|禁止|不准|不许|不得|严禁"
    "|律师|法院|签证|护照|贷款|发票|税|保险|付款",
    negations=frozenset("不没无未别非勿莫"),
)

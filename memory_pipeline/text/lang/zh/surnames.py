"""The most common Chinese surnames of one character, which most names begin with, simplified and traditional."""

from typing import Final

SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范"
    "金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔汤"
    "張劉陳楊黃趙吳孫馬羅鄭許韓馮鄧蕭葉蘇呂盧鍾譚陸賈韋鄒閻龍賀顧龔萬錢嚴湯"
)

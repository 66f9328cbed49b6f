"""German: function words, negations, months and number words. No rules judge German texts."""

from typing import Final

from memory_pipeline.text.lang.pack import WordPack, beginning, dated, numbered, words

PACK: Final = WordPack(
    code="de",
    algorithm="german",
    stop_words=words("""
    aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus außerdem
    bei beim bin bis bist bitte da dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darf darin
    darum darüber das dass davon davor dazu dein deine deinem deinen deiner dem den denen denn der deren des deshalb
    dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch dürfen ein eine einem einen einer
    eines einige er es etwa etwas euch euer eure eurem euren für ganz gar gegen gehabt gerade gern gerne gewesen
    geworden hab habe haben habt hat hatte hatten hätte hätten her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
    ihren ihrer ihres im immer in ins ist ja je jede jedem jeden jeder jedes jene jenem jenen jener jetzt kann kannst
    kein keine keinem keinen keiner können könnte man mal mein meine meinem meinen meiner meines mich mir mit muss
    musste müssen nach neben nein nicht nichts noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen seiner
    seines seit sich sie sind so sogar solch solche soll sollen sollte sondern sonst über um und uns unser unsere
    unserem unseren unserer unter vom von vor wann war waren warst warum was weder weil welche welchem welchen welcher
    welches wenn wer werde werden wem wen wessen weshalb wie wieder wieso will wir wird wirst wo woher wohin womit
    wollen worden wurde wurden während würde würden zu zum zur zwar zwischen aktuell momentan derzeit inzwischen
    mittlerweile viel viele vielen wieviel
    """),
    negations=words(
        "nicht nichts nie niemals niemand nirgends kein keine keinem keinen keiner keines nein ohne weder mehr nimmer"
    )
    - {"mehr"},
    date_words=dated(
        "januar/jänner/jan februar/feber/feb märz/mär april/apr mai juni/jun juli/jul august/aug september/sept"
        " oktober/okt november/nov dezember/dez",
        "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        {"heute": "today", "gestern": "yesterday"},
    ),
    number_words=numbered(
        "null eins zwei/zwo drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
        " siebzehn achtzehn neunzehn zwanzig"
    )
    | {"dreißig": "30", "vierzig": "40", "fünfzig": "50", "sechzig": "60", "siebzig": "70", "achtzig": "80"}
    | {"neunzig": "90", "hundert": "100", "tausend": "1000"},
    question_words={
        "wann": "what date",
        "seit wann": "how long",
        "wie lange": "how long",
        "wo": "where",
        "wohin": "where",
        "wer": "who",
        "wem": "who",
        "wen": "who",
        "wie viel": "how much",
        "wie viele": "how many",
        "wieviel": "how much",
        "wie oft": "how often",
        "wie alt": "how old",
        "warum": "why",
        "weshalb": "why",
        "jetzt": "now",
        "aktuell": "currently",
        "derzeit": "currently",
        "inzwischen": "now",
        "früher": "before",
    },
    safety=beginning("""
    unverträglich asthma diabet insulin epilep schwanger tablette
    dosis dosier blutdruck blutgruppe blutverdünn verschrieb verschreib impfung impfpass notfall vegan halal koscher
    glutenfrei verboten untersagt darf_nicht darf_kein dürfen_nicht dürfen_kein auf_keinen_fall anwalt anwältin visum
    reisepass versicher rechnung steuererkl kredit hypothek [0-9]+_?(?:mg|milligramm)
    """)
    + "|allerg|medikament|tabletten",  # also at the end of compounds
)

"""French: function words, negations, months and number words. No rules judge French texts."""

from typing import Final

from memory_pipeline.text.lang.pack import WordPack, beginning, dated, numbered, words

PACK: Final = WordPack(
    code="fr",
    algorithm="french",
    stop_words=words("""
    à actuellement afin ah ai aie aient ainsi alors après as assez au aucun aucune aujourd'hui auquel aura aurai aussi
    autant autre autres aux auxquels avaient avais avait avant avec avez aviez avions avoir avons ayant bah beaucoup
    bien c ça car ce ceci cela celle celles celui cependant ces cet cette ceux chacun chaque chez ci combien comme
    comment contre d dans de dehors déjà depuis des désormais dès deux devant doit donc dont du durant elle elles en
    encore enfin entre envers es est et étaient étais était étant été êtes être eu eurent eut eux fait faire fais faut
    fois font fut grâce hors ici il ils j jamais je jusqu jusque l la là laquelle le lequel les lesquels leur leurs lors
    lorsque lui m ma maintenant mais malgré me même mêmes mes mieux moi moins mon n ne ni non nos notre nous on ont ou
    où oui par parce parmi pas pendant peu peut peuvent peux plus plusieurs plutôt pour pourquoi pourtant présent
    presque puis puisque qu quand quant que quel quelle quelles quelqu quelque quelques quels qui quoi s sa sans se
    sera serai ses seulement si sien sinon soi soit sommes son sont sous souvent suis sur surtout t ta tandis tant te
    tel telle tes toi ton toujours tous tout toute toutes très trop tu un une va vais vers voici voilà vont vos votre
    vous y
    """)
    - words("deux"),
    negations=words("ne n pas jamais rien aucun aucune non ni sans guère"),
    date_words=dated(
        "janvier/janv février/févr/fevrier mars avril/avr mai juin juillet/juil août/aout septembre octobre/oct"
        " novembre/nov décembre/déc/decembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        {"aujourd'hui": "today", "hier": "yesterday", "demain": "tomorrow"},
    ),
    number_words=numbered(
        "zéro - deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize - - - vingt"
    )
    | {"trente": "30", "quarante": "40", "cinquante": "50", "soixante": "60", "septante": "70", "nonante": "90"}
    | {"cent": "100", "mille": "1000"},
    question_words={
        "quand": "what date",
        "depuis quand": "how long",
        "depuis combien de temps": "how long",
        "où": "where",
        "combien de temps": "how long",
        "combien": "how many",
        "qui est": "who",
        "pourquoi": "why",
        "maintenant": "now",
        "désormais": "now",
        "actuellement": "currently",
        "à présent": "at present",
        "en ce moment": "at the moment",
        "encore": "still",
        "avant": "before",
    },
    safety=beginning("""
    allergi allergèn intoléran asthm diabèt diabét insulin épilep enceinte médicament comprimé posologie dose dosage
    tension_artérielle groupe_sanguin prescri vaccin urgence végan vegan halal casher cœliaque sans_gluten interdi
    ne_doit_pas ne_doit_jamais ne_peut_pas ne_faut_pas ne_faut_jamais tribunal visa passeport hypothèque factur impôt
    assurance [0-9]+_?(?:mg|µg|milligramme|microgramme)
    """),
    elides=True,
)

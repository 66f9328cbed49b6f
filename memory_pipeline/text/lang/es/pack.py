"""Spanish: function words, negations, months and number words. No rules judge Spanish texts."""

from typing import Final

from memory_pipeline.text.lang.pack import WordPack, beginning, dated, numbered, words

PACK: Final = WordPack(
    code="es",
    algorithm="spanish",
    stop_words=words("""
    a acá actualmente además adonde adónde ahí ahora al algo alguien algún alguna algunas alguno algunos allá allí ante
    antes apenas aquel aquella aquellas aquello aquellos aquí así aun aún aunque bajo bien cada casi como cómo con
    conmigo consigo contigo contra cosa cual cuál cuales cuáles cualquier cuando cuándo cuanta cuánta cuantas cuántas
    cuanto cuánto cuantos cuántos de del demás dentro desde después donde dónde dos durante e el él ella ellas ello
    ellos en entonces entre era eran eras eres es esa esas ese eso esos esta está estaba estaban estado estamos están
    estar estas estás este esto estos estoy estuve estuvo fin fue fueron fui ha había habían habido hace hacia han has
    hasta hay he hemos hoy incluso la las le les lo los luego más me menos mi mí mía mías mientras mío míos mis misma
    mismo mucha muchas mucho muchos muy nada nadie ni ningún ninguna ninguno no nos nosotras nosotros nuestra nuestras
    nuestro nuestros nunca o os otra otras otro otros para pero poco por porque pues puede pueden puedo que qué quien
    quién quienes quiénes se sea sean según ser si sí sido siempre siendo sin sino sobre sois solo sólo somos son soy su
    sus suya suyas suyo suyos tal también tampoco tan tanto te tenía ti tiene tienen tienes tengo toda todas todavía
    todo todos tu tú tus tuya tuyas tuyo tuyos un una unas uno unos usted ustedes va van vez vosotros voy vuestra
    vuestro y ya yo
    """)
    - words("dos tres"),
    negations=words("no ni nunca jamás nada nadie ningún ninguna ninguno ningunos ningunas sin tampoco"),
    date_words=dated(
        "enero/ene febrero/feb marzo abril/abr mayo junio/jun julio/jul agosto/ago septiembre/setiembre/sept"
        " octubre/oct noviembre/nov diciembre/dic",
        "lunes martes miércoles/miercoles jueves viernes sábado/sabado domingo",
        {"hoy": "today", "ayer": "yesterday"},
    ),
    number_words=numbered(
        "cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete"
        " dieciocho diecinueve veinte veintiuno/veintiún veintidós veintitrés veinticuatro veinticinco veintiséis"
        " veintisiete veintiocho veintinueve treinta"
    )
    | {"cuarenta": "40", "cincuenta": "50", "sesenta": "60", "setenta": "70", "ochenta": "80", "noventa": "90"}
    | {"cien": "100", "ciento": "100", "mil": "1000"},
    question_words={
        "cuándo": "what date",
        "desde cuándo": "how long",
        "cuánto tiempo": "how long",
        "dónde": "where",
        "adónde": "where",
        "quién": "who",
        "quiénes": "who",
        "cuánto": "how much",
        "cuánta": "how much",
        "cuántos": "how many",
        "cuántas": "how many",
        "por qué": "why",
        "ahora": "now",
        "antes": "before",
        "actualmente": "currently",
        "hoy en día": "nowadays",
        "todavía": "still",
    },
    safety=beginning("""
    alérgi alergi alergen intoleran asma diab[eé]t insulina epilep embaraz medicament medicación pastilla dosis
    tensión_arterial grupo_sanguíneo recetaron recetó vacuna emergencia vegan halal kosher celíac celiac sin_gluten
    prohib no_se_puede no_se_debe bajo_ningún abogad visado pasaporte hipoteca factura impuesto seguro_médico
    [0-9]+_?(?:mg|miligramo)
    """),
)

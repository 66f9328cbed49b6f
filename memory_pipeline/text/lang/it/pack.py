"""Italian: function words, negations, months and number words. No rules judge Italian texts."""

from typing import Final

from memory_pipeline.text.lang.pack import WordPack, beginning, dated, numbered, words

PACK: Final = WordPack(
    code="it",
    algorithm="italian",
    stop_words=words("""
    a abbiamo abbia adesso ad agl agli ai al alcun alcuna alcuni alla alle allo allora altra altre altri altro anche
    ancora anzi appena attualmente avere aveva avevano avevo avete avuto b c che chi ci cioè ciò come con contro cosa
    così cui d da dagli dai dal dall dalla dalle dallo davanti degli dei del dell della delle dello dentro di dopo dove
    dov due dunque durante e è ebbe ed era erano eri ero essa essere essi fa faccio fanno fare finché fino fra fu fuori
    furono già gli ha hai hanno ho i il in infatti inoltre insieme invece io l la là le lei li lì lo loro lui ma mai me
    meglio meno mentre mi mia mie miei mio molta molte molti molto ne né neanche negli nei nel nell nella nelle nello
    nemmeno neppure nessun nessuna nessuno niente noi non nostra nostre nostri nostro nulla o od oggi ogni ognuno oppure
    ora ormai per perché perciò però più poca poche pochi poco poi posso può puoi pure qua qual quale quali qualche
    qualcosa qualcuno quando quant quanta quante quanti quanto quasi quel quell quella quelle quelli quello quest questa
    queste questi questo qui quindi s sarà saranno sarebbe se sei sembra sempre senza si sì sia siamo siano siate siete
    solo soltanto sono sopra sotto sta stai stanno stare stata state stati stato stesso sto su sua sue sugli sui sul
    sull sulla sulle sullo suo suoi tale tanta tante tanti tanto te ti tra troppo tu tua tue tuo tuoi tutta tutte tutti
    tutto un una uno va vado vanno verso vi via voi vostra vostre vostri vostro
    """)
    - words("due b via"),
    negations=words("non no mai nessun nessuna nessuno niente nulla né neanche nemmeno neppure senza"),
    date_words=dated(
        "gennaio/gen febbraio/feb marzo aprile/apr maggio/mag giugno/giu luglio/lug agosto/ago settembre/set/sett"
        " ottobre/ott novembre/nov dicembre/dic",
        "lunedì/lunedi martedì/martedi mercoledì/mercoledi giovedì/giovedi venerdì/venerdi sabato domenica",
        {"oggi": "today", "ieri": "yesterday", "domani": "tomorrow"},
    ),
    number_words=numbered(
        "zero - due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici"
        " diciassette diciotto diciannove venti ventuno ventidue ventitré ventiquattro venticinque ventisei ventisette"
        " ventotto ventinove trenta"
    )
    | {"quaranta": "40", "cinquanta": "50", "sessanta": "60", "settanta": "70", "ottanta": "80", "novanta": "90"}
    | {"cento": "100", "mille": "1000"},
    question_words={
        "quando": "what date",
        "da quando": "how long",
        "da quanto tempo": "how long",
        "quanto tempo": "how long",
        "dove": "where",
        "dov'è": "where is",
        "chi": "who",
        "quanto": "how much",
        "quanta": "how much",
        "quanti": "how many",
        "quante": "how many",
        "perché": "why",
        "adesso": "now",
        "ora": "now",
        "ormai": "now",
        "attualmente": "currently",
        "ancora": "still",
        "prima": "before",
    },
    safety=beginning("""
    allergi allergen intolleran asma diabet insulin epile incinta farmac medicin compress[ae] pastigli dosaggio dose_
    pressione_alta pressione_arteriosa gruppo_sanguigno prescri vaccin emergenza vegan halal kosher celiac senza_glutine
    vietat proibi non_deve non_si_deve non_può non_si_può avvocat tribunale passaporto mutuo fattur tasse assicura
    [0-9]+_?(?:mg|µg|milligramm|microgramm)
    """),
    elides=True,
)

"""The words of both languages, with the classes of things that they go with.

A Velu stem has either front vowels (e i) or back vowels (a o u), never both, and ends in a consonant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class NounKind(Enum):
    """What sort of thing a noun names."""

    PERSON = "person"
    ANIMAL = "animal"
    FOOD = "food"
    THING = "thing"
    PLACE = "place"


class Frame(Enum):
    """What a verb takes after it."""

    INTRANSITIVE = "intransitive"
    TRANSITIVE = "transitive"
    DITRANSITIVE = "ditransitive"
    SENTENTIAL = "sentential"


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun; a mass noun has no plural and takes no `a`."""

    singular: str
    plural: str | None
    stem: str
    kind: NounKind


@dataclass(frozen=True, slots=True)
class Name:
    """A name, and the stem it has in Velu."""

    english: str
    stem: str


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal pronoun and the possessive that goes with it."""

    subject: str
    object: str
    possessive: str
    stem: str
    agreement: str


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective and the kinds of things that it may describe."""

    english: str
    velu: str
    kinds: tuple[NounKind, ...]


@dataclass(frozen=True, slots=True)
class Adverb:
    """An adverb, which never changes its form."""

    english: str
    velu: str


@dataclass(frozen=True, slots=True)
class Preposition:
    """A preposition, and the postposition and the case that say the same in Velu."""

    english: str
    velu: str
    case: str
    kinds: tuple[NounKind, ...]


@dataclass(frozen=True, slots=True)
class Linker:
    """A word that joins two clauses."""

    english: str
    velu: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb; `lasting` verbs have a progressive, `moving` verbs go somewhere."""

    base: str
    third: str
    past: str
    gerund: str
    stem: str
    frame: Frame
    subjects: tuple[NounKind, ...]
    objects: tuple[NounKind, ...] = ()
    lasting: bool = True
    moving: bool = False


_PERSON = (NounKind.PERSON,)
_VISITED = (NounKind.PERSON, NounKind.PLACE)
_ANIMATE = (NounKind.PERSON, NounKind.ANIMAL)
_GOODS = (NounKind.THING, NounKind.FOOD)
_MOVABLE = (NounKind.PERSON, NounKind.ANIMAL, NounKind.THING, NounKind.FOOD)
_SOLID = (NounKind.PERSON, NounKind.ANIMAL, NounKind.THING, NounKind.PLACE)
_ALL = tuple(NounKind)

NOUNS = (
    Noun("man", "men", "gor", NounKind.PERSON),
    Noun("woman", "women", "lin", NounKind.PERSON),
    Noun("girl", "girls", "pesim", NounKind.PERSON),
    Noun("boy", "boys", "tavon", NounKind.PERSON),
    Noun("child", "children", "nip", NounKind.PERSON),
    Noun("teacher", "teachers", "kerid", NounKind.PERSON),
    Noun("doctor", "doctors", "mundak", NounKind.PERSON),
    Noun("king", "kings", "dorag", NounKind.PERSON),
    Noun("queen", "queens", "felit", NounKind.PERSON),
    Noun("farmer", "farmers", "hupol", NounKind.PERSON),
    Noun("friend", "friends", "zelig", NounKind.PERSON),
    Noun("dog", "dogs", "bak", NounKind.ANIMAL),
    Noun("cat", "cats", "miket", NounKind.ANIMAL),
    Noun("horse", "horses", "rogat", NounKind.ANIMAL),
    Noun("bird", "birds", "tilep", NounKind.ANIMAL),
    Noun("mouse", "mice", "sib", NounKind.ANIMAL),
    Noun("fox", "foxes", "vulop", NounKind.ANIMAL),
    Noun("cow", "cows", "mog", NounKind.ANIMAL),
    Noun("rabbit", "rabbits", "lepin", NounKind.ANIMAL),
    Noun("wolf", "wolves", "hurod", NounKind.ANIMAL),
    Noun("apple", "apples", "pomat", NounKind.FOOD),
    Noun("egg", "eggs", "ged", NounKind.FOOD),
    Noun("cake", "cakes", "tosap", NounKind.FOOD),
    Noun("carrot", "carrots", "ritek", NounKind.FOOD),
    Noun("bread", None, "nalob", NounKind.FOOD),
    Noun("fish", None, "fin", NounKind.FOOD),
    Noun("cheese", None, "sedip", NounKind.FOOD),
    Noun("meat", None, "karap", NounKind.FOOD),
    Noun("book", "books", "bulad", NounKind.THING),
    Noun("letter", "letters", "pimes", NounKind.THING),
    Noun("box", "boxes", "kof", NounKind.THING),
    Noun("stone", "stones", "tek", NounKind.THING),
    Noun("hat", "hats", "supog", NounKind.THING),
    Noun("lamp", "lamps", "ligen", NounKind.THING),
    Noun("picture", "pictures", "donaf", NounKind.THING),
    Noun("key", "keys", "kib", NounKind.THING),
    Noun("house", "houses", "damot", NounKind.PLACE),
    Noun("garden", "gardens", "ferin", NounKind.PLACE),
    Noun("school", "schools", "kilem", NounKind.PLACE),
    Noun("river", "rivers", "vorad", NounKind.PLACE),
    Noun("forest", "forests", "sulan", NounKind.PLACE),
    Noun("village", "villages", "gelip", NounKind.PLACE),
    Noun("bridge", "bridges", "potag", NounKind.PLACE),
    Noun("market", "markets", "merit", NounKind.PLACE),
)

NAMES = (
    Name("Anna", "Anad"),
    Name("Peter", "Petig"),
    Name("Maria", "Marop"),
    Name("Tom", "Tomog"),
    Name("Lucy", "Lisib"),
    Name("David", "Davot"),
    Name("Nina", "Ninef"),
    Name("Oscar", "Oskag"),
    Name("Emil", "Emid"),
    Name("Hugo", "Hugob"),
)

I = Pronoun("I", "me", "my", "yod", "1sg")  # noqa: E741 - its own spelling is its clearest name
YOU = Pronoun("you", "you", "your", "teb", "2")
HE = Pronoun("he", "him", "his", "lod", "3sg")
SHE = Pronoun("she", "her", "her", "zid", "3sg")
IT = Pronoun("it", "it", "its", "hod", "3sg")
WE = Pronoun("we", "us", "our", "nef", "1pl")
THEY = Pronoun("they", "them", "their", "gud", "3pl")
PRONOUNS = (I, YOU, HE, SHE, IT, WE, THEY)

ADJECTIVES = (
    Adjective("happy", "filo", _ANIMATE),
    Adjective("sad", "mura", _ANIMATE),
    Adjective("hungry", "goba", _ANIMATE),
    Adjective("angry", "raka", _ANIMATE),
    Adjective("clever", "niti", _ANIMATE),
    Adjective("brave", "harto", _ANIMATE),
    Adjective("young", "yuli", _ANIMATE),
    Adjective("good", "bene", _ALL),
    Adjective("big", "gando", _ALL),
    Adjective("small", "piti", _ALL),
    Adjective("old", "toro", _SOLID),
    Adjective("beautiful", "lume", _SOLID),
    Adjective("strange", "zuko", _ALL),
    Adjective("white", "beli", _MOVABLE),
    Adjective("black", "kara", _MOVABLE),
    Adjective("red", "rusa", _GOODS),
)

VERY = Adverb("very", "osto")
FREQUENCIES = (
    Adverb("often", "sove"),
    Adverb("always", "tumi"),
    Adverb("sometimes", "dalo"),
    Adverb("never", "nuro"),
)
NEVER = FREQUENCIES[-1]
MANNERS = (
    Adverb("quickly", "hipa"),
    Adverb("slowly", "lanto"),
    Adverb("quietly", "sisu"),
    Adverb("happily", "filome"),
    Adverb("carefully", "kurame"),
)
NOW = Adverb("now", "teri")
SOON = Adverb("soon", "bavi")
RECENTLY = Adverb("recently", "puno")

IN = Preposition("in", "sen", "locative", (NounKind.PLACE,))
NEAR = Preposition("near", "nov", "locative", _SOLID)
BEHIND = Preposition("behind", "gup", "locative", _SOLID)
BESIDE = Preposition("beside", "pel", "locative", _SOLID)
WITH = Preposition("with", "kun", "genitive", _ANIMATE)
WITHOUT = Preposition("without", "sim", "genitive", _ANIMATE)
FOR = Preposition("for", "por", "dative", _ANIMATE)
TO = Preposition("to", "tam", "dative", (NounKind.PLACE,))
FROM = Preposition("from", "des", "genitive", (NounKind.PLACE,))
LOCATIVES = (IN, NEAR, BEHIND, BESIDE)
COMPANIONS = (WITH, WITHOUT, FOR)
DIRECTIONS = (TO, FROM)

COORDINATORS = (Linker("and", "ve"), Linker("but", "ma"))
SUBORDINATORS = (
    Linker("because", "haz"),
    Linker("if", "sol"),
    Linker("although", "mez"),
    Linker("while", "dum"),
)

VERBS = (
    Verb("sleep", "sleeps", "slept", "sleeping", "dorm", Frame.INTRANSITIVE, _ANIMATE),
    Verb("run", "runs", "ran", "running", "kel", Frame.INTRANSITIVE, _ANIMATE, moving=True),
    Verb("walk", "walks", "walked", "walking", "pod", Frame.INTRANSITIVE, _ANIMATE, moving=True),
    Verb("jump", "jumps", "jumped", "jumping", "hig", Frame.INTRANSITIVE, _ANIMATE),
    Verb("swim", "swims", "swam", "swimming", "plav", Frame.INTRANSITIVE, _ANIMATE, moving=True),
    Verb("laugh", "laughs", "laughed", "laughing", "hes", Frame.INTRANSITIVE, _PERSON),
    Verb("sing", "sings", "sang", "singing", "dol", Frame.INTRANSITIVE, _PERSON),
    Verb("dance", "dances", "danced", "dancing", "tirb", Frame.INTRANSITIVE, _PERSON),
    Verb("wait", "waits", "waited", "waiting", "stag", Frame.INTRANSITIVE, _ANIMATE),
    Verb("fall", "falls", "fell", "falling", "yib", Frame.INTRANSITIVE, _MOVABLE),
    Verb("see", "sees", "saw", "seeing", "vid", Frame.TRANSITIVE, _ANIMATE, _ALL, lasting=False),
    Verb("hear", "hears", "heard", "hearing", "audr", Frame.TRANSITIVE, _ANIMATE, _ANIMATE, lasting=False),
    Verb("love", "loves", "loved", "loving", "lyub", Frame.TRANSITIVE, _PERSON, _ALL, lasting=False),
    Verb("chase", "chases", "chased", "chasing", "geb", Frame.TRANSITIVE, _ANIMATE, _ANIMATE),
    Verb("follow", "follows", "followed", "following", "sod", Frame.TRANSITIVE, _ANIMATE, _ANIMATE),
    Verb("watch", "watches", "watched", "watching", "kip", Frame.TRANSITIVE, _ANIMATE, _SOLID),
    Verb("eat", "eats", "ate", "eating", "nam", Frame.TRANSITIVE, _ANIMATE, (NounKind.FOOD,)),
    Verb("find", "finds", "found", "finding", "trov", Frame.TRANSITIVE, _ANIMATE, _MOVABLE),
    Verb("help", "helps", "helped", "helping", "zep", Frame.TRANSITIVE, _PERSON, _ANIMATE),
    Verb("visit", "visits", "visited", "visiting", "gest", Frame.TRANSITIVE, _PERSON, _VISITED),
    Verb("carry", "carries", "carried", "carrying", "port", Frame.TRANSITIVE, _PERSON, _GOODS),
    Verb("paint", "paints", "painted", "painting", "rimb", Frame.TRANSITIVE, _PERSON, _SOLID),
    Verb("buy", "buys", "bought", "buying", "kup", Frame.TRANSITIVE, _PERSON, _GOODS),
    Verb("give", "gives", "gave", "giving", "dav", Frame.DITRANSITIVE, _PERSON, _GOODS),
    Verb("send", "sends", "sent", "sending", "mit", Frame.DITRANSITIVE, _PERSON, _GOODS),
    Verb("show", "shows", "showed", "showing", "pokt", Frame.DITRANSITIVE, _PERSON, _SOLID),
    Verb("sell", "sells", "sold", "selling", "vend", Frame.DITRANSITIVE, _PERSON, _GOODS),
    Verb("bring", "brings", "brought", "bringing", "nost", Frame.DITRANSITIVE, _ANIMATE, _GOODS),
    Verb("say", "says", "said", "saying", "dik", Frame.SENTENTIAL, _PERSON),
    Verb("think", "thinks", "thought", "thinking", "myel", Frame.SENTENTIAL, _PERSON, lasting=False),
    Verb("know", "knows", "knew", "knowing", "zun", Frame.SENTENTIAL, _PERSON, lasting=False),
    Verb("believe", "believes", "believed", "believing", "ver", Frame.SENTENTIAL, _PERSON, lasting=False),
    Verb("hope", "hopes", "hoped", "hoping", "nadj", Frame.SENTENTIAL, _PERSON, lasting=False),
)

"""The words of both languages, with the classes of things that they go with.

A Velu stem has either front vowels (e i) or back vowels (a o u), never both, and ends in a consonant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
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
    kind: Kind


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
    kinds: tuple[Kind, ...]


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
    kinds: tuple[Kind, ...]


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
    subjects: tuple[Kind, ...]
    objects: tuple[Kind, ...] = ()
    lasting: bool = True
    moving: bool = False


_PERSON = (Kind.PERSON,)
_VISITED = (Kind.PERSON, Kind.PLACE)
_ANIMATE = (Kind.PERSON, Kind.ANIMAL)
_GOODS = (Kind.THING, Kind.FOOD)
_MOVABLE = (Kind.PERSON, Kind.ANIMAL, Kind.THING, Kind.FOOD)
_SOLID = (Kind.PERSON, Kind.ANIMAL, Kind.THING, Kind.PLACE)
_ALL = tuple(Kind)

NOUNS = (
    Noun("man", "men", "gor", Kind.PERSON),
    Noun("woman", "women", "lin", Kind.PERSON),
    Noun("girl", "girls", "pesim", Kind.PERSON),
    Noun("boy", "boys", "tavon", Kind.PERSON),
    Noun("child", "children", "nip", Kind.PERSON),
    Noun("teacher", "teachers", "kerid", Kind.PERSON),
    Noun("doctor", "doctors", "mundak", Kind.PERSON),
    Noun("king", "kings", "dorag", Kind.PERSON),
    Noun("queen", "queens", "felit", Kind.PERSON),
    Noun("farmer", "farmers", "hupol", Kind.PERSON),
    Noun("friend", "friends", "zelig", Kind.PERSON),
    Noun("dog", "dogs", "bak", Kind.ANIMAL),
    Noun("cat", "cats", "miket", Kind.ANIMAL),
    Noun("horse", "horses", "rogat", Kind.ANIMAL),
    Noun("bird", "birds", "tilep", Kind.ANIMAL),
    Noun("mouse", "mice", "sib", Kind.ANIMAL),
    Noun("fox", "foxes", "vulop", Kind.ANIMAL),
    Noun("cow", "cows", "mog", Kind.ANIMAL),
    Noun("rabbit", "rabbits", "lepin", Kind.ANIMAL),
    Noun("wolf", "wolves", "hurod", Kind.ANIMAL),
    Noun("apple", "apples", "pomat", Kind.FOOD),
    Noun("egg", "eggs", "ged", Kind.FOOD),
    Noun("cake", "cakes", "tosap", Kind.FOOD),
    Noun("carrot", "carrots", "ritek", Kind.FOOD),
    Noun("bread", None, "nalob", Kind.FOOD),
    Noun("fish", None, "fin", Kind.FOOD),
    Noun("cheese", None, "sedip", Kind.FOOD),
    Noun("meat", None, "karap", Kind.FOOD),
    Noun("book", "books", "bulad", Kind.THING),
    Noun("letter", "letters", "pimes", Kind.THING),
    Noun("box", "boxes", "kof", Kind.THING),
    Noun("stone", "stones", "tek", Kind.THING),
    Noun("hat", "hats", "supog", Kind.THING),
    Noun("lamp", "lamps", "ligen", Kind.THING),
    Noun("picture", "pictures", "donaf", Kind.THING),
    Noun("key", "keys", "kib", Kind.THING),
    Noun("house", "houses", "damot", Kind.PLACE),
    Noun("garden", "gardens", "ferin", Kind.PLACE),
    Noun("school", "schools", "kilem", Kind.PLACE),
    Noun("river", "rivers", "vorad", Kind.PLACE),
    Noun("forest", "forests", "sulan", Kind.PLACE),
    Noun("village", "villages", "gelip", Kind.PLACE),
    Noun("bridge", "bridges", "potag", Kind.PLACE),
    Noun("market", "markets", "merit", Kind.PLACE),
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

IN = Preposition("in", "sen", "locative", (Kind.PLACE,))
NEAR = Preposition("near", "nov", "locative", _SOLID)
BEHIND = Preposition("behind", "gup", "locative", _SOLID)
BESIDE = Preposition("beside", "pel", "locative", _SOLID)
WITH = Preposition("with", "kun", "genitive", _ANIMATE)
WITHOUT = Preposition("without", "sim", "genitive", _ANIMATE)
FOR = Preposition("for", "por", "dative", _ANIMATE)
TO = Preposition("to", "tam", "dative", (Kind.PLACE,))
FROM = Preposition("from", "des", "genitive", (Kind.PLACE,))
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
    Verb("eat", "eats", "ate", "eating", "nam", Frame.TRANSITIVE, _ANIMATE, (Kind.FOOD,)),
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

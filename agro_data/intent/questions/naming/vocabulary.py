"""Words with a habit of their own that no rule gives."""

# fmt: off
# One form serves both numbers.
INVARIANT = frozenset((
    "aircraft", "athletics", "bluetooth", "chassis", "clothing", "contents", "data", "equipment", "faculty", "feedback",
    "furniture", "gps", "gross", "hardware", "headquarters", "information", "luggage", "means", "media",
    "metadata", "money", "news", "personnel", "research", "sales", "series", "software", "species", "staff", "weather",
))

# Prepositions at the end of a name, and names that read as pronouns.
WITHOUT_PLURAL = frozenset((
    "by", "in", "to", "from", "at", "on", "i", "me", "my", "mine", "it", "its", "he", "she", "him", "her", "his",
))

# Names that say how rows may be: nothing can be counted by "actives".
STATES = frozenset((
    "active", "approved", "archived", "available", "cancelled", "closed", "completed", "current", "default",
    "deleted", "disabled", "enabled", "full time", "hidden", "inactive", "inducted", "open", "part time", "private",
    "public", "published", "valid", "verified", "visible",
))

# Singular although they end in -s.
SINGULAR_IN_S = frozenset((
    "access", "address", "aids", "alias", "analysis", "athletics", "atlas", "axis", "basis", "bias", "bonus", "boss",
    "bus", "business", "campus", "canvas", "census", "chassis", "class", "congress", "consensus", "cross",
    "css", "data", "diagnosis", "distress", "dns", "economics", "express", "focus", "gas", "genus", "glass",
    "gps", "gross", "headquarters", "illness", "iris", "lens", "loss", "mass", "mathematics", "media",
    "metadata", "news", "paris", "pass", "physics", "plus", "politics", "press", "process", "sas", "series",
    "sms", "species", "status", "stress", "success", "tennis", "texas", "thesis", "virus",
))

# Participles, and what stands like one, that do not end in -ed: "days held".
IRREGULAR_PARTICIPLES = frozenset((
    "available", "born", "bought", "built", "given", "held", "left", "lost", "made", "paid", "seen", "sent", "sold",
    "spent", "taken", "won", "written",
))

# What rows are said to be in.
CONTAINERS = frozenset((
    "album", "area", "arena", "borough", "branch", "building", "campus", "catalog", "category", "cinema",
    "city", "class", "classroom", "club", "college", "committee", "company", "competition", "conference",
    "continent", "country", "county", "debate", "department", "district", "division", "dorm", "election",
    "festival", "firm", "game", "genre", "grade", "group", "hospital", "hotel", "institution", "invoice",
    "journal", "league", "library", "location", "magazine", "market", "match", "month", "museum", "nation",
    "order", "organisation", "organization", "party", "playlist", "project", "province", "race", "region",
    "restaurant", "room", "school", "season", "section", "shop", "squad", "stadium", "state", "station",
    "store", "team", "theater", "theatre", "tournament", "town", "university", "venue", "volume", "year",
    "zone",
))

# Of these only persons are said to be in: a team's goals are not.
BODIES = frozenset((
    "club", "committee", "company", "firm", "institution", "organisation", "organization", "party", "squad", "team",
))

# The verbs for visitors of a house, a shop or a site: (the doers), what they do, and the participle of it.
CLIENTS = frozenset((
    "author", "buyer", "client", "customer", "donor", "enquirer", "guest", "investor", "member", "passenger",
    "rater", "reviewer", "shopper", "student", "subscriber", "tourist", "user", "visitor", "writer",
))
HOSTS = ("staff ", "crew ", "faculty ", "personnel ", "support ", "team ")  # their members serve the clients
DEEDS = {
    "application": "submitted", "bid": "placed", "booking": "made", "call": "made", "claim": "filed",
    "complaint": "filed", "deposit": "made", "donation": "made", "loan": "taken out", "order": "placed",
    "payment": "made", "purchase": "made", "rental": "made", "request": "made", "reservation": "made",
    "review": "written", "transaction": "made", "visit": "made", "vote": "cast",
}

# Works are by their makers.
MAKERS = frozenset((
    "architect", "artist", "author", "band", "composer", "designer", "director", "journalist", "manufacturer",
    "musician", "photographer", "producer", "publisher", "singer", "writer",
))
WORKS = frozenset((
    "album", "article", "book", "bridge", "cartoon", "exhibition", "film", "furniture", "model", "movie", "music",
    "musical", "painting", "paper", "photo", "play", "product", "program", "publication", "series", "song", "track",
    "volume",
))

# What a row does not belong to: phones are of a chip model, employees have a role, and flights an aircraft.
KINDS = frozenset(("brand", "kind", "model", "size", "type"))
BORNE = frozenset((
    "aircraft", "airplane", "color", "colour", "currency", "driver", "format", "instructor", "language", "level",
    "method", "pilot", "plane", "position", "role", "status", "vehicle",
))

# What a date or year in a column's phrase tells of the row: "release date", "year opened", "date of birth".
EVENTS = {
    "birth": "born", "built": "built", "closed": "closed", "completed": "completed", "completion": "completed",
    "construction": "built", "created": "created", "creation": "created", "delivered": "delivered",
    "destroyed": "destroyed", "discontinued": "discontinued",
    "established": "established", "filed": "filed", "foundation": "founded", "founded": "founded",
    "founding": "founded", "hire": "hired", "hired": "hired", "issued": "issued", "launch": "launched",
    "launched": "launched", "made": "made", "opened": "opened", "opening": "opened", "paid": "paid",
    "placed": "placed", "publication": "published", "published": "published", "raised": "raised",
    "received": "received", "registered": "registered", "registration": "registered", "release": "released",
    "released": "released", "settled": "settled", "shipped": "shipped", "sold": "sold", "submitted": "submitted",
}

# Plurals that are one value: never "more than 5 scores".
NOT_COUNTED = frozenset((
    "amounts", "assets", "charges", "costs", "details", "dimensions", "dividends", "dues", "duties", "earnings",
    "expenses", "fees", "grades", "incomes", "percents", "premiums", "prices", "proceeds", "profits", "rates",
    "ratings", "refunds", "revenues", "royalties", "salaries", "sales", "scores", "taxes", "tips", "tolls",
    "values", "wages",
))
# fmt: on

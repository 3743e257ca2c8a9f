"""Nouns of persons: a number that is called so says which of them, and in a question they are "who"."""

# fmt: off
PEOPLE = frozenset((
    "accountant", "actor", "adjuster", "adviser", "advisor", "agent", "alumnus", "analyst", "apprentice",
    "approver", "architect", "artist", "assignee", "assistant", "astronaut", "attendee", "attorney", "auditor",
    "author", "backer", "bodybuilder", "borrower", "boss", "boy", "buyer", "candidate", "captain", "cashier",
    "chef", "child", "citizen", "claimant", "clerk", "client", "climber", "co-author", "coach", "coauthor",
    "colleague", "competitor", "composer", "conductor", "consultant", "contestant", "cook", "courier",
    "creator", "critic", "customer", "cyclist", "dancer", "delegate", "dentist", "designer", "developer",
    "director", "dispatcher", "doctor", "donor", "driver", "editor", "employee", "engineer", "enquirer",
    "entrant", "entrepreneur", "follower", "founder", "friend", "girl", "governor", "graduate", "guest",
    "gymnast", "head", "host", "inhabitant", "instructor", "intern", "investor", "jockey", "journalist",
    "judge", "kid", "lawyer", "leader", "lender", "man", "manager", "mayor", "mechanic", "member", "mentor",
    "motorist", "mountaineer", "musician", "nurse", "officer", "owner", "parent", "participant", "partner",
    "passenger", "patient", "people", "performer", "perpetrator", "person", "pharmacist", "physician", "pilot",
    "player", "poker_player", "policeman", "policyholder", "prescriber", "president", "producer", "professor",
    "proprietor", "pupil", "purchaser", "rater", "reader", "recipient", "referee", "reporter", "representative",
    "requester", "researcher", "resident", "reviewer", "rider", "runner", "sailor", "salesperson", "scientist",
    "secretary", "seller", "senator", "sender", "shopper", "sightseer", "singer", "skater", "spouse", "staff",
    "student", "subscriber", "superior", "supervisor", "supplier", "swimmer", "teacher", "technician", "tenant",
    "tester", "tourist", "trainer", "traveler", "tutor", "umpire", "undergraduate", "user", "vet",
    "veterinarian", "victim", "victor", "visitor", "vocalist", "voter", "waiter", "woman", "worker", "wrestler",
    "writer",
))
# fmt: on

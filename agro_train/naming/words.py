"""Words of the dialects: keywords by what they do to a query, functions, and names that queries give themselves."""

from __future__ import annotations

import re

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BEFORE = _words("not case distinct null true false current_date current_time current_timestamp exists all")
OPENING = frozenset({"select", "with", "values"})
NEGATED = _words("in like between glob ilike similar regexp match null distinct exists materialized")
VALUES = frozenset({"null", "true", "false", "current_date", "current_time", "current_timestamp"})
INFIX = _words("and or in not like ilike glob regexp match between is escape")
POSTFIX = frozenset({"isnull", "notnull"})
CASE = _words("when then else end")  # in an open CASE only
UNITS = _words("year years month months week weeks day days hour hours minute minutes second seconds")
SET = frozenset({"union", "intersect", "except"})
JOINING: dict[Dialect, frozenset[str]] = {
    "sqlite": _words("join inner left right full cross natural"),
    "duckdb": _words("join inner left right full cross natural semi anti asof positional"),
}
JOINED = {  # what follows a word of a join that is not JOIN; else JOIN does
    "natural": _words("inner left right full join"),
    "asof": _words("inner left right full join"),
    "left": _words("outer join"),
    "right": _words("outer join"),
    "full": _words("outer join"),
}
UNKEYED = _words("cross natural positional asof")  # joins that ask for no key
WINDOW = _words(
    "partition by order asc desc nulls first last rows range groups between and unbounded preceding following current "
    "row exclude ties no others"
)
# Words that end what FROM lists, and so wait until every name has found its table.
ENDING = frozenset({"where", "group", "having", "order", "limit", "qualify", "window"}) | SET
RESERVED = (
    BEFORE | INFIX | CASE | JOINING["duckdb"] | ENDING | _words("outer select from on using as with values offset by")
)
TYPED = frozenset({"date", "time", "timestamp"})  # DATE '2020-01-31'
TABLE_FUNCTIONS = _words("json_each json_tree generate_series range unnest")
SPECIAL = frozenset({"rowid", "oid", "_rowid_"})

_SQLITE = (
    "abs acos acosh asin asinh atan atan2 atanh avg cast ceil ceiling char coalesce concat concat_ws cos cosh count "
    "cume_dist date datetime degrees dense_rank exp first_value floor format glob group_concat hex ifnull iif instr "
    "json json_array json_array_length json_extract json_group_array json_group_object json_object json_type "
    "json_valid julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile "
    "nullif octet_length percent_rank pi pow power printf quote radians rank replace round row_number rtrim sign sin "
    "sinh sqrt strftime string_agg substr substring sum tan tanh time timediff total trim trunc typeof unicode "
    "unixepoch upper"
)
_DUCKDB = (
    "any any_value approx_count_distinct approx_quantile arg_max arg_min array_agg bit_and bit_or bool_and bool_or "
    "century contains corr count_if covar_pop covar_samp cube current_localtimestamp date_add date_diff date_part "
    "date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade "
    "ends_with entropy epoch epoch_ms even extract favg first fsum gcd geomean greatest grouping grouping_id "
    "histogram hour if ilike isfinite isinf isnan isodow isoyear json_extract_string kurtosis last last_day lcm least "
    "left len levenshtein list list_aggregate list_contains list_sort list_sum listagg lpad mad make_date "
    "make_timestamp max_by md5 mean median microsecond millisecond min_by minute mode month monthname now "
    "percentile_cont percentile_disc position product quantile quantile_cont quantile_disc quarter regexp_extract "
    "regexp_full_match regexp_matches regexp_replace regr_slope repeat reverse right rollup row rpad second sem "
    "skewness some split_part starts_with stddev stddev_pop stddev_samp string_split strip_accents strlen strpos "
    "strptime time_bucket timestamp to_days to_hours to_minutes to_months to_seconds to_years today translate "
    "try_cast unnest var_pop var_samp variance week weekday weekofyear year yearweek"
)
FUNCTIONS: dict[Dialect, frozenset[str]] = {
    "sqlite": _words(_SQLITE),
    "duckdb": _words(_SQLITE) | _words(_DUCKDB),
}

ALIAS = re.compile(r"[a-z]{1,4}\d{0,2}")  # of a source that is named before it is defined
# What a computed output is called, in a query that names it before it is computed.
GIVEN = _words("n rn rnk rank ranking cnt count num total sum avg average max min percentage share")
COMPUTED = re.compile(rf"({'|'.join(sorted(GIVEN))})(_\w*)?")
# Behind what a text stands: SQLite reads a name in double quotes that is none of the query's as a text anywhere.
BEFORE_TEXT = _words("= == <> != < > <= >= || like ilike glob regexp match is between then else")
AGGREGATES = _words("avg count group_concat max min string_agg sum total")
PLAIN = re.compile(r"[^\W\d][\w$]*")  # a name that needs no quotes


def inside(text: str) -> str:
    """The name that a text in quotes is, without the last of them: `"a""b` is `a"b`."""
    return folded(text[1:].replace('""', '"') if text[0] == '"' else text[1:])


def names_output(name: str) -> bool:
    """Whether a word may be what an output is called, without AS: a short one, or a usual name of what is computed."""
    return name not in RESERVED and any(usual.fullmatch(name) for usual in (ALIAS, COMPUTED))

from agro_data.synthesis.decomposition import steps_of
from agro_data.verify.gate import check_statement
from agro_data.sql.facts import sql_facts
sch={"t":{"id":"INTEGER","x":"INTEGER","s":"TEXT"},"u":{"id":"INTEGER","t_id":"INTEGER"}}
Q=["SELECT x FROM t LIMIT (SELECT 1)","SELECT x FROM t ORDER BY (SELECT count(*) FROM u)","SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN (SELECT 1) PRECEDING AND CURRENT ROW) FROM t","SELECT x FROM t WHERE x IN ((SELECT id FROM u))","SELECT x FROM t GROUP BY (SELECT 1)","SELECT CASE WHEN EXISTS(SELECT 1 FROM u) THEN 1 END FROM t","SELECT x FROM json_each((SELECT s FROM t))","SELECT x FROM t JOIN u USING (id) WHERE EXISTS (SELECT 1)","VALUES ((SELECT 1))","SELECT * FROM (VALUES ((SELECT 1))) v","SELECT x FROM nope WHERE x IN (SELECT 1)","SELECT x FROM read_csv((SELECT s FROM t))","SELECT unnest((SELECT [1]))","SELECT list_transform([1], y -> (SELECT y))","SELECT x FROM t, unnest((SELECT [1]))","SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM u)) FROM t","SELECT x FROM t QUALIFY row_number() OVER (ORDER BY (SELECT 1)) = 1","SELECT x FROM t UNION SELECT id FROM u ORDER BY (SELECT 1)","SELECT DISTINCT ON ((SELECT 1)) x FROM t","SELECT * REPLACE ((SELECT 1) AS x) FROM t","SELECT t.* EXCLUDE (x) FROM t","WITH RECURSIVE r AS (SELECT 1 UNION SELECT (SELECT 2) FROM r) SELECT * FROM r","SELECT x FROM t AS z(a,b,(SELECT 1))","SELECT x FROM t PIVOT(sum(x) FOR s IN (SELECT 'a'))","SELECT x FROM t TABLESAMPLE ((SELECT 1))","SELECT (SELECT 1), EXISTS(SELECT 2) FROM t FETCH FIRST (SELECT 1) ROWS ONLY","SELECT x FROM t OFFSET (SELECT 1)","SELECT CAST((SELECT 1) AS DECIMAL(10,2))","SELECT x FROM t WINDOW w AS (ORDER BY (SELECT 1))","SELECT {'a':(SELECT 1)} FROM t","SELECT x FROM u.t WHERE EXISTS(SELECT 1)","SELECT x FROM ((SELECT 1) ) q","SELECT x FROM (t JOIN u ON EXISTS(SELECT 1))","SELECT x FROM t JOIN (u JOIN t t2 ON EXISTS(SELECT 1)) ON 1=1",
"SELECT x FROM t WHERE id = ANY(SELECT id FROM u)","SELECT string_agg(s, (SELECT ',')) FROM t","SELECT "+"(SELECT "*20+"1"+")"*20,"SELECT * FROM "+", ".join(f"t t{i}" for i in range(80))+" , (SELECT 1) q WHERE EXISTS(SELECT 2)"]
for d in ("sqlite","duckdb"):
    for q in Q:
        try: g=check_statement(q,d,sch); ok=g.ok; why=g.reason+" "+g.detail[:60]
        except BaseException as e: ok="GATE "+repr(e); why=""
        try: steps_of(q,d,sch); s="ok"
        except BaseException as e: s=type(e).__name__+" "+str(e)[:60]
        if s!="ok" and not s.startswith("SqlRefused"): print(d,q[:90],"| gate",ok,why,"| steps",s)

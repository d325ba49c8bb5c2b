-- The orders of at least $least, by region.
select region, count(*) as orders, cast(sum(amount) as bigint) as total, max(day) as latest
from read_csv('data/sales.csv', columns = {'region': 'VARCHAR', 'day': 'DATE', 'amount': 'INTEGER'})
where amount >= $least
group by region
order by region;

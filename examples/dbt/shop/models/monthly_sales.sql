select date_trunc('month', ordered_on) as month, count(*) as orders, sum(amount) as amount
from {{ ref('orders') }}
where ordered_on >= date '{{ var("since") }}'
group by all
order by month

select customers.name, count(*) as orders, sum(orders.amount) as amount
from {{ ref('customers') }} as customers
join {{ ref('orders') }} as orders using (customer_id)
group by all
order by amount desc

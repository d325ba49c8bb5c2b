"""The DAG of examples/engines/airflow, whose task is tried as tried.py says."""

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowException
from letters_dag import send
from tried import tried


@task(retries=2, retry_delay=0)
def send_tried(to, text):
    return tried(send.function, AirflowException, to, text)


@dag(schedule=None, params={"to": "", "text": "Hello"})
def proof():
    send_tried("{{ params.to }}", "{{ params.text }}")


proof()

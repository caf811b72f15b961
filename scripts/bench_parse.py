"""Reads a page or a reply of Wikibase as often as it can for some seconds, with one of
the libraries that scrapers use, and prints calls and bytes a second of the wall and
of this process's user time: bench_parse.py PEER FILE SECONDS. Each peer returns what hgld
returns: the values of "Instance of", or those of P31 of every item."""
import os
import sys
import time

HEADER = "Instance of"


def lxml_page(body):
    from lxml import etree
    header = etree.XPath('//*[@id="wdinfobox"]//th[contains(@class,"wikidatainfobox-lcell")][normalize-space()="Instance of"]')
    values = etree.XPath('following-sibling::td[1]//li')

    def read():
        found = header(etree.HTML(body))
        return ["".join(li.itertext()) for li in values(found[0])] if found else []
    return read


def selectolax_page(body):
    from selectolax.lexbor import LexborHTMLParser

    def read():
        for th in LexborHTMLParser(body).css("#wdinfobox th.wikidatainfobox-lcell"):
            if th.text(strip=True) == HEADER:
                return [li.text() for li in th.next.css("li")]
        return []
    return read


def json_items(loads):
    def prepare(body):
        def read():
            found = []
            for item in loads(body)["entities"].values():
                for statement in item["claims"].get("P31", []):
                    value = statement["mainsnak"].get("datavalue")
                    if value:
                        found.append("Q%d" % value["value"]["numeric-id"])
            return found
        return read
    return prepare


def orjson_items(body):
    import orjson
    return json_items(orjson.loads)(body)


def stdlib_items(body):
    import json
    return json_items(json.loads)(body)


PEERS = {"lxml": lxml_page, "selectolax": selectolax_page, "orjson": orjson_items, "json": stdlib_items}


def main(peer, path, seconds):
    with open(path, "rb") as f:
        body = f.read()
    read = PEERS[peer](body)
    found = read()
    calls, began, used = 0, time.perf_counter(), os.times().user
    while time.perf_counter() - began < seconds:
        read()
        calls += 1
    wall, user = time.perf_counter() - began, os.times().user - used
    print(calls / wall, calls / user, len(body), len(found))


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))

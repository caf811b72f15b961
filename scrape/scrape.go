// Package scrape is stage 1 of hgld: it finds the "instance of" tag of every
// landmark category on Wikimedia Commons. It reads the category files of GLDv2
// (train_label_to_category.csv) and writes tags.jsonl, one labels.Record per
// landmark in the order of the input. A Linker also gives items.jsonl: the classes above
// the tags, and the places of the landmarks.
//
// A Source fetches and parses what a site says about a category: scrape/page reads the
// HTML pages, scrape/api uses the APIs. This package is the crawl around a Source. It
// decides what to request and in which order, stores the responses, and resumes a stopped
// crawl.
//
// # State
//
// The state folder of a crawl contains:
//
//	scrape.db      SQLite, WAL, synchronous FULL.
//	               meta: format (2), source, site.
//	               response: one row per response: step, method, URL, form, status,
//	               content type, time, user agent, sha256. Responses that answer one
//	               question together share a batch.
//	               fact: what the responses say, by step and key (title or item), and
//	               the reason for fetching it again, if there is one.
//	               finding: one row per title, with its outcome and Record as JSON. It
//	               can be rebuilt from the facts.
//	raw/ab/abc….gz bodies of responses, gzip, named by the sha256 of the body
//	lock           held while a process works here; contains its pid
//	report.json    counts of the last finished run
//
// A response, its facts and the findings that they complete are committed in one
// transaction, after the bodies have been written to disk. A title is acknowledged when its
// finding is committed. After a kill -9, the same command requests nothing that was already
// answered. tags.jsonl is built from the findings alone and contains no times. Its bytes
// therefore depend on what the site said and not on how often the crawl was interrupted.
// Reparse rebuilds the facts from the stored bodies without a network.
package scrape

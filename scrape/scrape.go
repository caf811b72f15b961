// Package scrape is stage 1 of hgld: it finds the "instance of" tag of every
// landmark category on Wikimedia Commons. It reads the category files of GLDv2
// (train_label_to_category.csv) and writes tags.jsonl, one labels.Record a
// landmark in the order of the input.
//
// What a site knows of a category comes from a Source: scrape/page reads pages,
// scrape/api asks the APIs. This package is the crawl around it: what to ask for, in
// which order, what is kept, and how a stopped crawl goes on.
//
// # State
//
// The state folder of a crawl holds
//
//	scrape.db      SQLite, WAL, synchronous FULL.
//	               meta: format (2), source, site.
//	               response: one row a response: step, method, URL, form, status,
//	               content type, time, user agent, sha256. Responses that answer one
//	               question together have the same batch.
//	               fact: what the responses say, by step and key (title or item), and
//	               why it is to be asked for again, if it is.
//	               finding: one row a title, with its outcome and Record as JSON. It
//	               is a function of the facts, kept for speed.
//	raw/ab/abc….gz bodies of responses, gzip, named by the sha256 of the body
//	lock           held while a process works here; holds its pid
//	report.json    counts of the last finished run
//
// A response, its facts and the findings that they complete are one transaction; the
// bodies are on disk by then. A title is acknowledged when its finding is committed.
// After a kill -9 the same command asks for nothing that was answered. tags.jsonl
// is made from the findings alone and has no times in it, so its bytes depend on
// what the site said and not on how often the crawl was interrupted. Facts can be
// read from the bodies again without a network (Reparse). A state of format 1 is
// converted when it is opened for writing, without a request.
package scrape

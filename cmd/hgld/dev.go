package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/scrape/testing/fakecommons"
)

func devCommand() *cli.Command {
	dev := group("dev", "tools to try hgld without a network",
		"  hgld dev fake-wikimedia --landmarks 1000     serves made-up landmarks", fakeWikimediaCommand())
	dev.Hidden = true
	return dev
}

func fakeWikimediaCommand() *cli.Command {
	return &cli.Command{
		Name: "fake-wikimedia", Usage: "serve an imitation of Wikimedia on this machine: category pages and both APIs",
		Description: "  hgld dev fake-wikimedia --port 8099 --landmarks 1000 --categories categories.csv\n" +
			"  hgld scrape run --split train -o base_url=http://127.0.0.1:8099 -o wikidata_url=http://127.0.0.1:8099 " +
			"--source api --contact you@university.edu\n" +
			"  hgld dev fake-wikimedia --failures 0.2       one request in five fails\n" +
			"  hgld dev fake-wikimedia --no-limits          enforce no rate, for scrape run --rate 0\n\n" +
			"It enforces Wikimedia's rules: a contact in the user agent, at most 1 concurrent API request and\n" +
			"3 a second, at most 10 concurrent pages and 20 a second, no request before Retry-After has passed.\n" +
			"When it ends, it prints how many requests broke a rule.",
		Flags: append(commonFlags(),
			&cli.IntFlag{Name: "port", Usage: "`PORT` to serve on; 0: any free one", Value: 8099},
			&cli.IntFlag{Name: "landmarks", Usage: "`N` landmarks; GLDv2 has 304391", Value: 1000},
			&cli.StringFlag{Name: "categories", Usage: "write the landmarks and their categories to `FILE`",
				Value: "categories.csv"},
			&cli.StringFlag{Name: "expect", Usage: "write the expected outcome and tag of each landmark to `FILE`"},
			&cli.StringFlag{Name: "log", Usage: "at the end, write one line of JSON per request to `FILE`"},
			&cli.BoolFlag{Name: "no-limits", Usage: "do not enforce the rules"},
			&cli.Float64Flag{Name: "failures", Usage: "`SHARE` of requests that fail, from 0 to less than 1"},
			replaceFlag()),
		Action: serveFakeWikimedia,
	}
}

// serveFakeWikimedia runs `hgld dev fake-wikimedia`.
func serveFakeWikimedia(c *cli.Context) (err error) {
	n, failures := c.Int("landmarks"), c.Float64("failures")
	if n < 1 || n > 10_000_000 || !(failures >= 0 && failures < 1) {
		return usagef("--landmarks is %d and --failures %g; want 1 to 10000000 landmarks, and a share from 0 to less than "+
			"1", n,
			failures)
	}
	j := jobIn(c, new(pipeline.Project))
	pages := fakecommons.Corpus(n)
	err = j.checkOutputs("dev fake-wikimedia", nil, pipeline.Output{Path: c.String("categories"), Kind: kindForeign},
		pipeline.Output{Path: c.String("expect"), Kind: "expected tags"},
		pipeline.Output{Path: c.String("log"), Kind: "a log of requests"})
	if err != nil {
		return err
	}
	if err := writeFakeCategories(c.String("categories"), pages); err != nil {
		return err
	}
	if path := c.String("expect"); path != "" {
		write := func(w io.Writer) error { return fakecommons.WriteExpected(w, pages) }
		if err := atomicfile.Write(path, write); err != nil {
			return err
		}
	}
	site := fakecommons.New(pages)
	site.Add(fakecommons.CorpusItems(pages)...)
	site.Failures, site.Seed = failures, 1
	if !c.Bool("no-limits") {
		site.Limits = fakecommons.WikimediaLimits()
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Int("port"))))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(j.ctx, func() { _ = server.Close() })
	defer stop()
	j.log("%s in %s; serving them at http://%s until ctrl-C", count(n, "landmark"), c.String("categories"),
		listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return reportFakeWikimedia(j, site, c.String("log"))
}

// reportFakeWikimedia prints a summary of the requests and writes their log.
func reportFakeWikimedia(j *job, site *fakecommons.Server, log string) error {
	asked := map[bool]int{} // pages, or else the API
	requests := site.Log()
	for _, r := range requests {
		asked[r.Action == "page"]++
	}
	j.log("%s for pages and %d to the APIs", count(asked[true], "request"), asked[false])
	if broken := site.Violations(); len(broken) > 0 {
		j.log("%s broke a rule, the first: %s", count(len(broken), "request"), broken[0])
	}
	if log == "" {
		return nil
	}
	return atomicfile.Write(log, func(w io.Writer) error { return fakecommons.WriteLog(w, requests) })
}

func writeFakeCategories(path string, pages []fakecommons.Category) error {
	return atomicfile.Write(path, func(w io.Writer) error { return fakecommons.WriteCSV(w, pages) })
}

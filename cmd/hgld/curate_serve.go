package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cluster/space"
	"hgld/curate"
	"hgld/curate/serve"
	"hgld/internal/pipeline"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/shards/examples"
)

// servePort is the default port. It is fixed so that an open page finds the server again
// after a restart.
const servePort = 8350

func curateServeCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "curate in the browser, on this machine only",
		Description: "  hgld curate serve                                        curate draft.json; every edit goes to " +
			"edits.jsonl\n" +
			"  hgld curate serve --by Anna --log anna.jsonl             one of several annotators, each with their own log\n" +
			"  hgld curate serve --adjudicate anna.jsonl --adjudicate ben.jsonl --log third.jsonl --by Chris\n" +
			"                                                           decide where two or more annotators differ\n" +
			"  hgld curate serve --levels tag,supercategory,family,kind   one more level, for a new log\n" +
			"  hgld curate serve --images shards                        with images of the landmarks\n" +
			"  hgld curate serve --port 0                               on any free port\n" +
			"  hgld curate serve --people people.txt --origin https://curate.example.org   several people, by a proxy",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "`FILE` to curate", DefaultText: "draft.json"},
			&cli.StringFlag{Name: "log", Usage: "`FILE` of edits; created if it does not exist", DefaultText: "edits.jsonl"},
			&cli.StringFlag{Name: "by", Usage: "`NAME` of the curator, for a new log"},
			&cli.StringFlag{Name: "levels", Usage: "`NAMES` of the levels of a new log, finest first",
				DefaultText: strings.Join(curate.DefaultLevels, ",")},
			&cli.StringFlag{Name: "out", Usage: "hierarchy `FILE` that the page's Write button makes", DefaultText: "hierarchy.json"},
			&cli.IntFlag{Name: "port", Usage: "port on 127.0.0.1; 0 for any free port", Value: servePort},
			&cli.StringFlag{Name: "origin",
				Usage: "`ADDRESS` of a proxy with TLS on this machine through which the people of --people come: https://HOST"},
			&cli.StringFlag{Name: "people",
				Usage: "`FILE` with a name on each line of who may come by --origin; hgld adds an access key to each"},
			&cli.StringFlag{Name: "tags", Usage: "tags.jsonl `FILE`, for links and images of landmarks",
				DefaultText: "tags.jsonl"},
			&cli.StringFlag{Name: "images",
				Usage: "folder written by shards build, or folder with a folder of images per landmark: `DIR`/<landmark>/*.jpg"},
			&cli.StringSliceFlag{Name: "adjudicate",
				Usage: "`LOG` of one of the annotators to decide between; repeat for each other"},
			&cli.StringFlag{Name: "on-conflict",
				Usage: "if an edit of the log names a tag or group that the draft lacks: stop, or skip", DefaultText: "stop"},
			replaceFlag(),
		),
		Action: action(func(c *cli.Context, j *job) error {
			settings, err := curateStage().Load(j.project, nil)
			if err != nil {
				return err
			}
			tags, err := clusterStage().Load(j.project, nil)
			if err != nil {
				return err
			}
			o := &serveOptions{
				draft: cmp.Or(c.String("draft"), settings.Draft), out: cmp.Or(c.String("out"), settings.Out), by: c.String("by"),
				port: c.Int("port"), tags: cmp.Or(c.String("tags"), tags.Tags),
				images:     c.String("images"),
				adjudicate: c.StringSlice("adjudicate"), onConflict: cmp.Or(c.String("on-conflict"), settings.OnConflict),
				log: c.String("log"), origin: c.String("origin"), people: c.String("people"),
				undecided: settings.Undecided, named: c.IsSet("tags"),
			}
			if names := c.String("levels"); names != "" {
				o.levels = strings.Split(names, ",")
			}
			if err := o.chooseLog(j, settings.Logs); err != nil {
				return err
			}
			if o.port < 0 || o.port > 65535 {
				return usagef("--port %d; want 0 to 65535", o.port)
			}
			if (o.origin == "") != (o.people == "") {
				return usagef("--origin and --people belong together: who may come, and by which address")
			}
			return runCurateServe(j, o)
		}),
	}
}

// serveOptions are the flags of `hgld curate serve`.
type serveOptions struct {
	draft, log, by, out, tags, images, onConflict, origin, people string
	port                                                          int
	adjudicate, levels                                            []string
	undecided                                                     bool
	named                                                         bool // whether --tags was given
}

// chooseLog chooses the log of the page among those of the project, unless --log names one: the only
// one, or that of the adjudicator of those before it.
func (o *serveOptions) chooseLog(j *job, logs []string) error {
	if o.log != "" {
		return nil
	}
	if o.log = logOf(logs); o.log == "" || len(logs) > 1 && len(o.adjudicate) > 0 {
		return logsError("the page appends to", logs)
	}
	if last := len(logs) - 1; last > 0 {
		o.adjudicate = logs[:last]
		var names []string
		for _, log := range o.adjudicate {
			names = append(names, j.project.Inside(log))
		}
		j.log("%s: the adjudicator's log of %s; --log opens a curator's own log", j.project.Inside(o.log),
			strings.Join(names, " and "))
	}
	return nil
}

// serveHeap is the percentage by which the heap of the server may grow between garbage
// collections. The default, 100, would double the memory of a draft. With 57,000 labels
// the peak resident size is 131 MB after reading and 139 MB after 400 edits, instead of
// 167 and 174 MB, and an edit is no slower. The page stays open all day on a curator's
// machine, so memory matters more than collection time.
const serveHeap = 30

// runCurateServe is `hgld curate serve`.
func runCurateServe(j *job, o *serveOptions) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(serveHeap))
	j.log("reading %s", o.draft)
	if len(o.adjudicate) == 1 {
		return usagef("--adjudicate must be given at least twice, once for the log of each annotator; got 1")
	}
	if err := namedOnce(o.adjudicate); err != nil {
		return err
	}
	if _, err := conflictPolicy(o.onConflict); err != nil {
		return err
	}
	people, err := o.readPeople(j)
	if err != nil {
		return err
	}
	in := append([]string{o.draft, o.tags}, o.logs()...)
	err = j.project.CheckOutputs(pipeline.Writing{Command: "curate serve", Stage: "curate", In: in,
		Out: []pipeline.Output{{Path: o.out, Kind: kindHierarchy}}, Replace: j.replace})
	if err != nil {
		return err
	}
	sayAdjudicated(j, o.log)
	made, err := o.makeLog()
	if err != nil {
		return err
	}
	log, contents, err := curate.OpenLog(o.log)
	if err != nil {
		return logError(err)
	}
	started := false
	defer func() {
		err = errors.Join(err, log.Close())
		if made && !started { // a log of nobody would keep another curator from beginning
			err = errors.Join(err, os.Remove(o.log))
		}
	}()
	if contents.Torn != nil {
		j.log("%v; it is left out", contents.Torn)
	}
	if have := contents.Header.Levels; len(o.levels) > 0 && !slices.Equal(have, o.levels) {
		return usagef("%s has the levels %s, but --levels is %s; the levels of a log cannot change: name a new log with "+
			"--log",
			o.log, strings.Join(have, ","), strings.Join(o.levels, ","))
	}
	by := contents.Curator()
	if by != "" && o.by != "" && by != o.by && people == nil {
		return usagef("%s is the log of %s; every curator needs their own log: name yours with --log", o.log, by)
	}
	c := serve.Config{Save: log.Append, By: cmp.Or(o.by, by), Log: filepath.Base(o.log)}
	files, err := o.openSession(j, &c)
	if err != nil {
		return err
	}
	if c.Queue, err = serve.QueueName(o.log, contents.Header); err != nil {
		return err
	}
	closeVectors, err := o.fill(j, &c, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeVectors()) }()
	c.People, c.Origin = people, o.origin
	c.WriteHierarchy = func(replace bool) (string, error) { return o.finish(j, replace) }
	return o.listen(j, c, func() { started = true })
}

// readPeople reads who may come through the proxy.
func (o *serveOptions) readPeople(j *job) ([]serve.Person, error) {
	if o.people == "" {
		return nil, nil
	}
	if _, err := serve.HostOf(o.origin); err != nil {
		return nil, usagef("--origin %.80q: %v", o.origin, err)
	}
	people, err := serve.ReadPeople(o.people)
	if err == nil {
		j.log("%s: %s; the link of each is %s/#key= and their access key", o.people, countPeople(len(people)), o.origin)
	}
	return people, err
}

func countPeople(n int) string {
	if n == 1 {
		return "1 person"
	}
	return strconv.Itoa(n) + " people"
}

// makeLog creates the log if it does not exist, and reports whether it did.
func (o *serveOptions) makeLog() (made bool, err error) {
	if _, err := os.Stat(o.log); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if _, err := os.Stat(o.draft); err != nil {
		return false, withHint(err, "`hgld cluster run` makes a draft")
	}
	err = curate.StartLog(o.log, o.draft, o.by, o.levels, o.adjudicate, editTime())
	if errors.Is(err, fs.ErrExist) {
		return false, nil // another server has just created the log; opening it reports that
	}
	return err == nil, logError(err)
}

// openSession replays the logs on the draft.
func (o *serveOptions) openSession(j *job, c *serve.Config) (*curate.Curation, error) {
	policy, err := conflictPolicy(o.onConflict)
	if err != nil {
		return nil, err
	}
	files, err := readCuration(j, o.draft, o.logs())
	if err != nil {
		return nil, err
	}
	own := files.Logs[len(files.Logs)-1]
	if len(o.adjudicate) > 0 && !own.Adjudicates() {
		return nil, usagef("%s is a curator's own log, not an adjudicator's; name another log with --log", o.log)
	}
	if len(o.adjudicate) == 0 && own.Adjudicates() {
		return nil, usagef("%s is an adjudicator's log; name the curators' logs with --adjudicate", o.log)
	}
	if c.Session, err = files.Replay(policy); err != nil {
		return nil, logError(err)
	}
	c.New, _ = files.NewTags()
	c.Compared = files.Comparison
	if c.Compared != nil {
		c.Names = curate.Curators(files.Compared())
	}
	if own.Report.Conflicts != nil {
		j.print("%s", own.Text())
	}
	return files, nil
}

// logs returns the logs that `hgld curate apply` would replay.
func (o *serveOptions) logs() []string { return append(slices.Clone(o.adjudicate), o.log) }

// besideDraft says where the vectors of a draft belong.
const besideDraft = "put beside the draft"

// vectorsBeside is the file of a draft's vectors, "" if the draft was made without.
func vectorsBeside(path string, d *labels.Draft) string {
	if d.Origin.Vectors == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), filepath.Base(d.Origin.Vectors))
}

// fill adds vectors and tags to the page if they exist.
func (o *serveOptions) fill(j *job, c *serve.Config, files *curate.Curation) (func() error, error) {
	nothing := func() error { return nil }
	vectors, err := space.Open(vectorsBeside(o.draft, files.Draft), o.draft, files.Draft)
	switch {
	case err == nil:
		c.Suggester, c.Splitter, c.Mapper = vectors, vectors, vectors
		if c.Namer, err = serveNamer(j, files.Draft); err != nil {
			return nothing, err
		}
	case errors.Is(err, fs.ErrNotExist):
		j.log("there are no vectors of %s: no suggestions, no splits, no map", o.draft)
	default:
		return nothing, vectorsHint(err, besideDraft)
	}
	_, err = os.Stat(o.tags)
	if errors.Is(err, fs.ErrNotExist) && o.images == "" && !o.named {
		j.log("there is no %s: no examples of landmarks", o.tags)
		return nothing, nil
	}
	found, err := examples.Open(files.Draft, o.tags, o.images)
	err = imagesHint(err)
	if _, missing := os.Stat(o.tags); errors.Is(missing, fs.ErrNotExist) {
		err = withHint(err, "name tags.jsonl, which lists the landmarks of every tag, with --tags")
	}
	if err != nil {
		return nothing, err
	}
	c.Examples = found
	return found.Close, nil
}

// wantImages says in an error which folders --images accepts.
const wantImages = "--images takes the folder that `hgld shards build` wrote, or one with a folder of images per " +
	"landmark: DIR/<landmark>/*.jpg"

// imagesHint says what --images takes.
func imagesHint(err error) error {
	var folder *examples.ImagesError
	switch {
	case !errors.As(err, &folder):
		return err
	case folder.Err != nil:
		return withHint(err, wantImages)
	case folder.Finest != "":
		return withHint(withCode(exitUsage, err), "`hgld shards build --labels labels.csv` makes shards of landmarks; %s",
			wantImages)
	}
	return withHint(withCode(exitUsage, err), wantImages)
}

// finish does what `hgld curate apply` does, and returns its output. Unless replace is set, it returns
// a *serve.ReplaceError if that would change the result of other logs.
func (o *serveOptions) finish(j *job, replace bool) (string, error) {
	var out bytes.Buffer
	apply := *j
	apply.stdout, apply.stderr, apply.json, apply.args = &out, io.Discard, false, nil
	apply.replace = j.replace || replace
	settings := curateStage().Defaults()
	settings.Draft, settings.Logs, settings.Out, settings.OnConflict, settings.Undecided = o.draft, o.logs(), o.out,
		o.onConflict, o.undecided
	settings.placeParents(j.project)
	if !replace {
		err := o.checkReplaced(&apply)
		if err = withEdited(err, curateStage().CheckEdited(&apply, settings)); err != nil {
			return "", err
		}
	}
	err := curateStage().Execute(&apply, settings)
	if err != nil && exitCode(err) == exitSomeFailed {
		return out.String() + err.Error(), nil
	}
	return out.String(), withEdited(nil, err)
}

// withEdited joins what would be lost of the results of other logs and of files that somebody changed, so that the
// curator is asked once.
func withEdited(others, err error) error {
	var replaces *serve.ReplaceError
	var output *pipeline.OutputError
	if !errors.As(err, &output) || !output.Replaceable {
		return cmp.Or(others, err)
	}
	text := fmt.Sprintf("%s is %s.", output.Path, output.Is)
	if errors.As(others, &replaces) {
		text = replaces.Text + "\n" + text
	} else if others != nil {
		return others
	}
	return &serve.ReplaceError{Text: text}
}

// checkReplaced returns a *serve.ReplaceError if other logs made the hierarchy that is to be written,
// and it would change.
func (o *serveOptions) checkReplaced(j *job) error {
	if others, err := curate.MadeByOthers(o.out, o.logs()); err != nil || !others {
		return nil // a damaged hierarchy is no result to keep
	}
	policy, err := conflictPolicy(o.onConflict)
	if err != nil {
		return err
	}
	files, err := readCuration(j, o.draft, o.logs())
	if err != nil {
		return err
	}
	session, err := files.Replay(policy)
	if err != nil {
		return logError(err)
	}
	h, err := files.Hierarchy(session, o.undecided, "hgld "+version)
	if err != nil {
		return err
	}
	r, err := curate.Replaces(o.out, o.logs(), h)
	if err != nil || r == nil {
		return err
	}
	return &serve.ReplaceError{Text: r.Text()}
}

// listen serves the page until ctx is cancelled. It calls started once the page can be opened.
func (o *serveOptions) listen(j *job, c serve.Config, started func()) (err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return withHint(err, "if another program uses port %d, --port 0 takes any free port", o.port)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	base := "http://127.0.0.1:" + port
	c.Hosts = []string{"127.0.0.1:" + port, "localhost:" + port}
	link := serve.Link{Base: base}
	if !terminal.Is(j.stdout) {
		link.File = o.log + ".link"
	}
	give := func(what, key string) error {
		text, err := link.Give(key)
		if err == nil {
			j.print("%s: %s\n", what, text)
		}
		return err
	}
	c.Linked = func(key string) {
		if err := give("opened; for another tab or browser", key); err != nil {
			j.log("the next link: %v", err)
		}
	}
	s, err := serve.New(c)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	debug.FreeOSMemory() // reading a draft leaves as much garbage as it keeps
	if err := give("open in a browser, once", s.Key()); err != nil {
		return errors.Join(err, listener.Close())
	}
	started()
	defer func() { err = errors.Join(err, link.Remove()) }()
	j.log("%s: %s; every edit is saved at once; ctrl-C stops the server", o.log, count(c.Session.Version(), "edit"))
	if err := s.Serve(j.ctx, listener); err != nil {
		return err
	}
	j.log("stopped; %s has %s", o.log, count(c.Session.Version(), "edit"))
	return nil
}

package demo

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"hgld/internal/crash"
	"hgld/internal/testing/sketch"
	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
)

//go:embed tags.tsv
var tagsTable string

//go:embed groups.tsv
var groupsTable string

// world is the made-up data of the demo: landmarks with noisy tags, each curator's opinion of
// the tags, and the adjudicated result.
type world struct {
	groups    []worldGroup
	tags      []worldTag
	landmarks []worldLandmark
}

// worldGroup is a supercategory with its kind and the form in which its landmarks are drawn.
type worldGroup struct {
	name, kind string
	form       int
}

// worldTag is a tag exactly as scraped. For each curator and for the adjudication it holds the
// name of a group, or dropped.
type worldTag struct {
	text      string
	landmarks int
	final     string
	by        [2]string
}

// value splits the text into the value and the qualifier that an infobox prints after it in
// parentheses.
func (t worldTag) value() fakecommons.Value {
	text, rest, found := strings.Cut(t.text, " (")
	v := fakecommons.Value{Text: text, Link: "/wiki/Category:" + strings.ReplaceAll(strings.TrimSpace(text), " ", "_")}
	if found {
		v.Qualifiers = []string{strings.TrimSuffix(rest, ")")}
	}
	return v
}

// name returns the tag as stage 1 normalises it, with white space collapsed.
func (t worldTag) name() string { return strings.Join(strings.Fields(t.value().Text), " ") }

// dropped marks a tag that a curator removes as irrelevant.
const dropped = "-"

// worldLandmark is a landmark with its page and the contents of its infobox. oddity describes
// how a page is unusable; most landmarks have none.
type worldLandmark struct {
	id     int
	title  string
	tag    int // index into tags, or −1 if the page has no tag
	group  int // index into groups, or −1
	oddity string
}

// oddities lists the kinds of unusable pages. The demo has two landmarks of each kind.
var oddities = []string{"missing", "disambiguation", "no-infobox", "no-tag", "redirect"}

// newWorld reads the bundled tables and makes up the landmarks.
func newWorld() (*world, error) {
	w := &world{}
	for i, row := range tsv(groupsTable) {
		if len(row) != 3 || !slices.Contains(sketch.Forms, row[2]) {
			return nil, fmt.Errorf("groups.tsv:%d: expected supercategory, kind and a form", i+2)
		}
		w.groups = append(w.groups, worldGroup{row[0], row[1], slices.Index(sketch.Forms, row[2])})
	}
	for i, row := range tsv(tagsTable) {
		if len(row) != 5 {
			return nil, fmt.Errorf("tags.tsv:%d: expected tag, number of landmarks, supercategory and two curators",
				i+2)
		}
		n, err := strconv.Atoi(row[1])
		if err != nil {
			return nil, fmt.Errorf("tags.tsv:%d: %w", i+2, err)
		}
		tag := worldTag{text: row[0], landmarks: n, final: row[2], by: [2]string{row[3], row[4]}}
		for c := range tag.by {
			if tag.by[c] == "" {
				tag.by[c] = tag.final
			}
		}
		w.tags = append(w.tags, tag)
	}
	w.populate()
	return w, nil
}

// populate makes the landmarks, in an order that mixes the groups.
func (w *world) populate() {
	r := rand.New(rand.NewPCG(2023, 78))
	add := func(tag, group int, oddity string) {
		w.landmarks = append(w.landmarks, worldLandmark{tag: tag, group: group, oddity: oddity})
	}
	for t, tag := range w.tags {
		group := slices.IndexFunc(w.groups, func(g worldGroup) bool { return g.name == tag.final })
		for range tag.landmarks {
			add(t, group, "")
		}
	}
	for i := range 2 * len(oddities) {
		oddity := oddities[i%len(oddities)]
		if oddity == "redirect" {
			add(0, 0, oddity)
		} else {
			add(-1, -1, oddity)
		}
	}
	r.Shuffle(len(w.landmarks), func(i, j int) { w.landmarks[i], w.landmarks[j] = w.landmarks[j], w.landmarks[i] })
	used := map[string]bool{}
	for i := range w.landmarks {
		l := &w.landmarks[i]
		l.id = i
		for l.title == "" || used[l.title] {
			l.title = placeName(r)
		}
		used[l.title] = true
	}
}

// placeName makes up a title with the characters of real titles: accents, commas, parentheses,
// ampersands and apostrophes.
func placeName(r *rand.Rand) string {
	start := []string{"Al", "Bre", "Cor", "Dun", "Es", "Fal", "Gru", "Hel", "Is", "Kol",
		"Lo", "Mar", "Nor", "Ost", "Pel", "Ra", "Sel", "Tor", "Ul", "Vil"}
	middle := []string{"ba", "de", "ga", "li", "ma", "ne", "ra", "so", "ta", "vi", "ü", "é", "ø"}
	end := []string{"burg", "dal", "ford", "heim", "mont", "nik", "sund", "ton", "vik", "zza"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	name := pick(start) + pick(middle) + pick(end)
	switch r.IntN(8) {
	case 0:
		name += ", " + pick(start) + pick(end)
	case 1:
		name += " (" + pick(start) + pick(middle) + pick(end) + ")"
	case 2:
		name += " & " + pick(start) + pick(end)
	case 3:
		name = "St. " + name + "'s"
	}
	return name
}

// pages returns the category pages of the landmarks in order, followed by the targets of
// redirects.
func (w *world) pages() []fakecommons.Category {
	var pages, targets []fakecommons.Category
	for _, l := range w.landmarks {
		page := fakecommons.Category{Landmark: labels.LandmarkID(l.id), Title: "Category:" + l.title,
			Item: fmt.Sprintf("Q%d", 9_000_000+l.id), Variant: worldVariants[l.oddity]}
		if l.tag >= 0 {
			page.Values = []fakecommons.Value{w.tags[l.tag].value()}
		}
		if l.oddity == "redirect" {
			target := page
			target.Title, target.Variant = page.Title+" (new name)", fakecommons.Plain
			page.Target, page.Values = target.Title, nil
			targets = append(targets, target)
		}
		pages = append(pages, page)
	}
	return append(pages, targets...)
}

// worldVariants maps a landmark's oddity to the variant of its page.
var worldVariants = map[string]fakecommons.Variant{
	"": fakecommons.Plain, "missing": fakecommons.Missing, "disambiguation": fakecommons.Disambiguation,
	"no-infobox": fakecommons.NoInfobox, "no-tag": fakecommons.NoTag, "redirect": fakecommons.SoftRedirect,
}

// serveCommons serves the pages on a loopback address until the caller calls stop.
func serveCommons(pages []fakecommons.Category) (url string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: fakecommons.New(pages), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() {
		defer crash.Guard()
		done <- server.Serve(listener)
	}()
	return "http://" + listener.Addr().String(), func() error {
		err := server.Close()
		<-done
		return err
	}, nil
}

// tsv splits a bundled table into rows of cells and skips the heading.
func tsv(text string) [][]string {
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:] {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

//go:build browser

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/labels"
)

// keyMeter notes in the page, for every key: how long until a task behind the next
// frame runs, which is when style, layout and paint of that frame are done and it
// is handed to the compositor (a frame is due every 16.7 ms, so half of that is
// waiting); what Chromium's Event Timing says of the same, which goes on until the
// picture is on the screen, in steps of 8 ms and 0 for less than 16; and how long
// until the page says "saved #n".
const keyMeter = `window.meter = {painted: [], shown: new Map(), saved: [], text: ""};
new PerformanceObserver((list) => list.getEntries().forEach((e) => { if (e.name === "keydown") meter.shown.set(e.startTime, e.duration); })).observe({type: "event", durationThreshold: 16});
performance.setResourceTimingBufferSize(1e5);
addEventListener("keydown", (e) => {
	meter.key = e.timeStamp;
	const c = new MessageChannel();
	c.port1.onmessage = () => meter.painted.push(performance.now() - e.timeStamp);
	requestAnimationFrame(() => c.port2.postMessage(0));
}, true);
new MutationObserver(() => {
	const text = document.getElementById("saved").textContent;
	if (/^saved #\d+$/.test(text) && text !== meter.text) { meter.saved.push(performance.now() - meter.key); meter.text = text; }
}).observe(document.getElementById("saved"), {childList: true, characterData: true, subtree: true});`

// keySettled resolves when nothing is under way: the last key is painted, the edit is
// saved, the suggestions are those of the label that is current.
const keySettled = `(async (n) => {
	for (let calm = 0; calm < 3;) {
		await new Promise((done) => setTimeout(done, 10));
		calm = meter.painted.length >= n && !/^saving|to go/.test(document.getElementById("saved").textContent) && !document.querySelector(".near.stale") ? calm + 1 : 0;
	}
})(%d)`

// benchBrowser is a Chromium with a keyMeter in its page.
type benchBrowser struct {
	*browser
	labels int
}

// keysOneByOne types keys one at a time, each when what the one before did is over, and
// reports the times from the key to the picture and to the disk, and what a key costs
// the page.
func (m benchBrowser) keysOneByOne(what string, rounds int, keys ...string) {
	m.t.Helper()
	m.run(evaluateVoid(`meter.painted = []; meter.saved = []; meter.shown.clear(); performance.clearResourceTimings();`))
	before := m.spent()
	for i := range rounds {
		m.keys(keys[i%len(keys)])
		evaluated(m.browser, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(keySettled, i+1), chromedp.EvalAwaitPromise))
	}
	cost := m.spent()
	for name, s := range before {
		cost[name] = (cost[name] - s) * 1000 / float64(rounds)
	}
	line := fmt.Sprintf("%-24s to paint %s, on screen %s; page: script %.1f, style %.1f, layout %.1f CPU ms a key", what,
		quantiles(eval[[]float64](m.browser, `meter.painted`)),
		quantiles(eval[[]float64](m.browser,
			fmt.Sprintf(`(() => { const d = [...meter.shown.values()]; while (d.length < %d) d.push(0); return d; })()`,
				rounds))),
		cost["ScriptDuration"], cost["RecalcStyleDuration"], cost["LayoutDuration"])
	if saved := eval[[]float64](m.browser, `meter.saved`); len(saved) > 0 {
		server := eval[[]float64](m.browser,
			`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api/edit")).map((e) => e.responseStart - e.requestStart)`)
		line += fmt.Sprintf("; on disk %s (%d), of that the server %s", quantiles(saved), len(saved), quantiles(server))
	}
	m.t.Logf("%d labels: %s", m.labels, line)
}

// spent is the processor time of the page's main thread so far, in seconds: it does
// not count what others do on the machine.
func (m benchBrowser) spent() map[string]float64 {
	m.t.Helper()
	all, err := chromedp.Call(m.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		m.t.Fatal(err)
	}
	spent := map[string]float64{}
	for _, x := range all.Metrics {
		if strings.HasSuffix(x.Name, "Duration") {
			spent[x.Name] = x.Value
		}
	}
	return spent
}

// quantiles are the median and the 95th percentile of times in milliseconds.
func quantiles(times []float64) string {
	if len(times) == 0 {
		return "–"
	}
	slices.Sort(times)
	return fmt.Sprintf("%.1f / %.1f ms", times[len(times)/2], times[len(times)*95/100])
}

// floorPage is a page that does nothing for a key but change one text: what is left of
// the times is the browser's and the machine's.
const floorPage = `<p id=saved>0</p><script>addEventListener("keydown", () => { saved.textContent++; })</script>`

// TestBrowserBench measures the page with HGLD_BENCH_LABELS labels, 570 where it
// is not set, and prints what it finds, medians and 95th percentiles; it judges
// nothing. The first line is the floor.
func TestBrowserBench(t *testing.T) {
	n := 570
	if text := os.Getenv("HGLD_BENCH_LABELS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := benchProject(t, n)
	s := serveIn(t, dir, "--port", "0", "--by", "bench")
	m := benchBrowser{newBrowser(t, 1280, 800, false), n}
	if _, err := chromedp.Call(m.ctx, performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	m.run(chromedp.Navigate("data:text/html,"+url.PathEscape(floorPage)), evaluateVoid(keyMeter))
	m.keysOneByOne("floor: one text changes", 100, "l")
	m.open(s.url)
	m.keys(kb.Escape)
	m.run(chromedp.Reload())
	m.until("reloaded", `performance.getEntriesByName("ready").length && performance.getEntriesByName("first-contentful-paint").length`)
	t.Logf("%d labels: first paint %.0f ms, everything shown %.0f ms", n,
		eval[float64](m.browser, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
		eval[float64](m.browser, `performance.getEntriesByName("ready")[0].startTime`))
	m.keys(kb.Escape)
	m.run(evaluateVoid(keyMeter))
	m.keysOneByOne("move by l, h, arrows", 100, "l", "l", kb.ArrowDown, "h")
	m.keysOneByOne("mark by space", 60, " ", "l")
	m.keys(kb.Escape)
	m.keysOneByOne("next, previous group", 60, "j", "j", "k")
	m.keysOneByOne("edit by 1", 60, "1")
	m.keysOneByOne("accept by a", 60, "a")
	m.keysOneByOne("undo", 40, "u")
	m.keys("/")
	m.keysOneByOne("find, by letter", 30, "l", "a", "k", kb.Backspace, kb.Backspace, kb.Backspace)
	for _, line := range strings.Split(mustRead(t, fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)), "\n") {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			t.Logf("%d labels: server %s", n, strings.Join(strings.Fields(line), " "))
		}
	}
	m.clean()
}

// benchProject writes a draft of n labels in clusters of about 38, with vectors of
// 384 values around their centroids.
func benchProject(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("church chapel tower bridge lake river park museum castle fort station harbour hill peak " +
		"valley garden square theatre school library mill mine")
	d := &labels.Draft{Version: labels.DraftVersion,
		Origin: labels.Origin{Algorithm: "k-means", Vectors: cluster.VectorsFile}}
	x := cluster.NewMatrix(n, 384)
	centre := make([]float32, x.Cols)
	for i := range n {
		if i%38 == 0 {
			for k := range centre {
				centre[k] = float32(r.NormFloat64()) * 0.05
			}
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / 38, Name: fmt.Sprintf("cluster %d", i/38)})
		}
		for k := range centre {
			x.Row(i)[k] = centre[k] + float32(r.NormFloat64())*0.02
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i, Distance: 0.1 + float64(i%38)/100, Outlier: i%38 > 35})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("%s %s %d", words[r.IntN(len(words))],
			words[r.IntN(len(words))], i), QID: fmt.Sprintf("Q%d", i+1)}, Landmarks: 1 + r.IntN(50), Images: r.IntN(900)})
	}
	if err := atomicfile.Write(filepath.Join(dir, "draft.json"),
		func(w io.Writer) error { return labels.WriteDraft(w, d) }); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, cluster.VectorsFile),
		func(w io.Writer) error { return cluster.WriteVectors(w, x, cluster.VectorsOrigin{}) }); err != nil {
		t.Fatal(err)
	}
	return dir
}

//go:build browser

package browsertest

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

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/internal/testing/browser"
	"hgld/internal/testing/must"
	"hgld/labels"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keyMeter records three times for every key. The first ends when a task after the next frame
// runs: style, layout and paint of that frame are then done, and it is passed to the compositor.
// A frame is due every 16.7 ms, so half of that is waiting. The second is the duration from
// Chromium's Event Timing. It ends when the frame is on the screen, has steps of 8 ms, and is 0
// below 16 ms. The third ends when the page says "saved #n".
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

// keySettled resolves when the last key is painted, its edit is saved, and the suggestions are
// those of the current label.
const keySettled = `(async (n) => {
	for (let calm = 0; calm < 3;) {
		await new Promise((done) => setTimeout(done, 10));
		calm = meter.painted.length >= n && !/^saving|to go/.test(document.getElementById("saved").textContent) && !document.querySelector(".near.stale") ? calm + 1 : 0;
	}
})(%d)`

// measured is a page with a keyMeter.
type measured struct {
	*page
	labels int
}

// keysOneByOne types each key after the effects of the last one are complete. It logs the times
// from a key to the screen and to the disk, and the processor time that a key costs the page.
func (m measured) keysOneByOne(what string, rounds int, keys ...string) {
	m.TB.Helper()
	m.Exec(`meter.painted = []; meter.saved = []; meter.shown.clear(); performance.clearResourceTimings();`)
	before := m.spent()
	for i := range rounds {
		m.Keys(keys[i%len(keys)])
		browser.Evaluated(m.Tab, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(keySettled, i+1), chromedp.EvalAwaitPromise))
	}
	cost := m.spent()
	for name, s := range before {
		cost[name] = (cost[name] - s) * 1000 / float64(rounds)
	}
	line := fmt.Sprintf("%-24s to paint %s, on screen %s; page: script %.1f, style %.1f, layout %.1f CPU ms a key", what,
		quantiles(eval[[]float64](m.page, `meter.painted`)),
		quantiles(eval[[]float64](m.page,
			fmt.Sprintf(`(() => { const d = [...meter.shown.values()]; while (d.length < %d) d.push(0); return d; })()`,
				rounds))),
		cost["ScriptDuration"], cost["RecalcStyleDuration"], cost["LayoutDuration"])
	if saved := eval[[]float64](m.page, `meter.saved`); len(saved) > 0 {
		server := eval[[]float64](m.page,
			`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api/edit")).map((e) => e.responseStart - e.requestStart)`)
		line += fmt.Sprintf("; on disk %s (%d), of that the server %s", quantiles(saved), len(saved), quantiles(server))
	}
	m.TB.Logf("%d labels: %s", m.labels, line)
}

// spent is the processor time of the page's main thread so far, in seconds. Other processes do
// not count.
func (m measured) spent() map[string]float64 {
	m.TB.Helper()
	all, err := chromedp.Call(m.Context(), performance.GetMetrics, cdp.Empty{})
	if err != nil {
		m.TB.Fatal(err)
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

// floorPage changes one text for each key. Its times are those of the browser and the machine
// alone.
const floorPage = `<p id=saved>0</p><script>addEventListener("keydown", () => { saved.textContent++; })</script>`

// benchSize is a number that the environment may set.
func benchSize(t testing.TB, variable string, size int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return size
}

// TestKeyTimes measures the page with $HGLD_BENCH_LABELS labels, by default 570, in $HGLD_BENCH_CLUSTERS
// clusters, by default of 38 labels, and logs medians and 95th percentiles. It sets no limits. The first line is
// the floor.
func TestKeyTimes(t *testing.T) {
	n := benchSize(t, "HGLD_BENCH_LABELS", 570)
	dir := benchProject(t, n, benchSize(t, "HGLD_BENCH_CLUSTERS", (n+37)/38))
	s := startServer(t, dir, "--by", "bench")
	m := measured{newPage(t, 1280, 800, false), n}
	if _, err := chromedp.Call(m.Context(), performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	m.Run(chromedp.Navigate("data:text/html," + url.PathEscape(floorPage)))
	m.Exec(keyMeter)
	m.keysOneByOne("floor: one text changes", 100, "l")
	m.Open(s.url)
	m.Keys(kb.Escape)
	m.Run(chromedp.Reload())
	m.Until("reloaded", `performance.getEntriesByName("ready").length && performance.getEntriesByName("first-contentful-paint").length`)
	t.Logf("%d labels: first paint %.0f ms, everything shown %.0f ms", n,
		eval[float64](m.page, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
		eval[float64](m.page, `performance.getEntriesByName("ready")[0].startTime`))
	m.Keys(kb.Escape)
	m.Exec(keyMeter)
	m.keysOneByOne("move by l, h, arrows", 100, "l", "l", kb.ArrowDown, "h")
	m.keysOneByOne("mark by space", 60, " ", "l")
	m.Keys(kb.Escape)
	m.keysOneByOne("next, previous group", 60, "j", "j", "k")
	m.keysOneByOne("edit by 1", 60, "1")
	m.keysOneByOne("accept by a", 60, "a")
	m.keysOneByOne("undo", 40, "u")
	m.Keys("/")
	m.keysOneByOne("find, by letter", 30, "l", "a", "k", kb.Backspace, kb.Backspace, kb.Backspace)
	m.regexpKeys()
	m.mapFrames(s)
	m.bulk(s)
	m.logMemory(s)
}

// regexpKeys types a regular expression that finds most labels, and then fewer.
func (m measured) regexpKeys() {
	m.TB.Helper()
	m.Keys("/", "/")
	m.keysOneByOne("find, by expression", 30, "a", ".", "*", kb.Backspace, kb.Backspace, kb.Backspace)
	m.Keys(kb.Backspace, kb.Escape)
}

// logMemory logs the memory of the server and of the page's scripts.
func (m measured) logMemory(s *server) {
	t := m.TB
	t.Helper()
	all := must.Get(chromedp.Call(m.Context(), performance.GetMetrics, cdp.Empty{}))(t)
	for _, x := range all.Metrics {
		if x.Name == "JSHeapUsedSize" {
			t.Logf("%d labels: heap of the page %.0f MB", m.labels, x.Value/1e6)
		}
	}
	for _, line := range strings.Split(mustRead(t, fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)), "\n") {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			t.Logf("%d labels: server %s", m.labels, strings.Join(strings.Fields(line), " "))
		}
	}
}

// benchProject writes a draft of n labels in clusters of equal size, with vectors of 384 values around
// their centroids.
func benchProject(t testing.TB, n, clusters int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("church chapel tower bridge lake river park museum castle fort station harbour hill peak " +
		"valley garden square theatre school library mill mine")
	d := &labels.Draft{Version: labels.DraftVersion,
		Origin: labels.Origin{Algorithm: "k-means", Vectors: cluster.VectorsFile}}
	x := cluster.NewMatrix(n, 384)
	centre := make([]float32, x.Cols)
	size := (n + clusters - 1) / clusters
	for i := range n {
		if i%size == 0 {
			for k := range centre {
				centre[k] = float32(r.NormFloat64()) * 0.05
			}
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / size, Name: fmt.Sprintf("cluster %d", i/size)})
		}
		for k := range centre {
			x.Row(i)[k] = centre[k] + float32(r.NormFloat64())*0.02
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i, Distance: 0.1 + float64(i%size)/100, Outlier: i%size > size-3})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("%s %s %d", words[r.IntN(len(words))],
			words[r.IntN(len(words))], i), QID: fmt.Sprintf("Q%d", i+1)}, Landmarks: 1 + r.IntN(50), Images: r.IntN(900)})
	}
	writeDraft(t, dir, d)
	if err := atomicfile.Write(filepath.Join(dir, cluster.VectorsFile),
		func(w io.Writer) error { return cluster.WriteVectors(w, x, cluster.VectorsOrigin{}) }); err != nil {
		t.Fatal(err)
	}
	return dir
}

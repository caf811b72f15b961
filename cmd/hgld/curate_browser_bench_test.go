//go:build browser

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/labels"
)

// TestBrowserBench measures the page with HGLD_BENCH_LABELS labels, 570 where it
// is not set, and prints what it finds; it judges nothing.
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
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.run(chromedp.Reload())
	b.until("reloaded", `performance.getEntriesByName("ready").length && performance.getEntriesByName("first-contentful-paint").length`)
	firstPaint := eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	ready := eval[float64](b, `performance.getEntriesByName("ready")[0].startTime`)
	b.keys(kb.Escape)
	// From the key to the frame that shows it: the time stamp of the event, and
	// what a task behind the frame sees.
	b.run(evaluateVoid(`window.painted = []; addEventListener("keydown", (e) => {
		const c = new MessageChannel();
		c.port1.onmessage = () => window.painted.push(performance.now() - e.timeStamp);
		requestAnimationFrame(() => c.port2.postMessage(0));
	}, true)`))
	press := func(rounds int, keys ...string) []float64 {
		b.run(evaluateVoid(`window.painted = []`))
		for i := range rounds {
			b.keys(keys[i%len(keys)])
			time.Sleep(20 * time.Millisecond)
		}
		b.until("painted", fmt.Sprintf(`window.painted.length >= %d`, rounds))
		return eval[[]float64](b, `window.painted`)
	}
	report := func(what string, times []float64) {
		slices.Sort(times)
		t.Logf("%d labels: %-26s median %6.1f ms, p95 %6.1f ms (%d)", n, what, times[len(times)/2], times[len(times)*95/100], len(times))
	}
	t.Logf("%d labels: first paint %.0f ms, everything shown %.0f ms", n, firstPaint, ready)
	report("move by l, h, arrows", press(100, "l", "l", kb.ArrowDown, "h"))
	report("mark by space", press(60, " ", "l"))
	b.keys(kb.Escape)
	report("next, previous group", press(60, "j", "j", "k"))
	report("edit by 1", press(60, "1"))
	report("accept by a", press(60, "a"))
	report("undo and redo", press(20, "u"))
	b.until("all saved", `document.getElementById("saved").textContent.startsWith("saved #") && !document.getElementById("saved").textContent.includes("to go")`)
	report("edit on disk", eval[[]float64](b, `performance.getEntriesByName("edit saved").map(e => e.duration)`))
	b.keys("/")
	report("find, by letter", press(5, "l", "a", "b", "e", "l"))
	for _, line := range strings.Split(mustRead(t, fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)), "\n") {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			t.Logf("%d labels: server %s", n, strings.Join(strings.Fields(line), " "))
		}
	}
	b.clean()
}

// benchProject writes a draft of n labels in clusters of about 38, with vectors of
// 384 values around their centroids.
func benchProject(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("church chapel tower bridge lake river park museum castle fort station harbour hill peak valley garden square theatre school library mill mine")
	d := &labels.Draft{Version: labels.DraftVersion, Origin: labels.Origin{Algorithm: "k-means", Vectors: cluster.VectorsFile}}
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
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("%s %s %d", words[r.IntN(len(words))], words[r.IntN(len(words))], i), QID: fmt.Sprintf("Q%d", i+1)}, Landmarks: 1 + r.IntN(50), Images: r.IntN(900)})
	}
	if err := atomicfile.Write(filepath.Join(dir, "draft.json"), func(w io.Writer) error { return labels.WriteDraft(w, d) }); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, cluster.VectorsFile), func(w io.Writer) error { return cluster.WriteVectors(w, x, cluster.VectorsOrigin{}) }); err != nil {
		t.Fatal(err)
	}
	return dir
}

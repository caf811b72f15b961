//go:build browser

package browsertest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/must"
)

// frameMeter moves the pointer over the map once a frame, for a number of frames after the first, and resolves with
// the times between frames. step is a function of the frame's number that sends the events.
const frameMeter = `new Promise((done) => {
	const map = document.querySelector("canvas"), r = map.getBoundingClientRect(), between = [];
	map.setPointerCapture = () => {};
	const send = (type, x, y, more) => map.dispatchEvent(new PointerEvent(type,
		{clientX: r.left + x * r.width, clientY: r.top + y * r.height, bubbles: true, ...more}));
	const wheel = (x, y, by) => map.dispatchEvent(new WheelEvent("wheel", {deltaY: by, cancelable: true,
		clientX: r.left + x * r.width, clientY: r.top + y * r.height}));
	const step = %s;
	let was = 0, n = 0;
	const frame = (now) => {
		if (was) between.push(now - was);
		was = now;
		step(n++);
		if (n > %d) done(between); else requestAnimationFrame(frame);
	};
	requestAnimationFrame(frame);
})`

// fewLabels is a number of labels below which the times say nothing, and a tenth of the frames is enough.
const fewLabels = 5000

// frames logs how often the map is drawn while step runs, for n frames; "all" is their number in step.
func (m measured) frames(what, step string, n int) {
	m.TB.Helper()
	if m.labels < fewLabels {
		n /= 10
	}
	before := m.spent()["TaskDuration"]
	between := awaited[[]float64](m.page, fmt.Sprintf(frameMeter, strings.ReplaceAll(step, "all", strconv.Itoa(n)), n))
	sum := 0.0
	for _, ms := range between {
		sum += ms
	}
	m.TB.Logf("%d labels: %-24s %.0f frames a second, between frames %s, main thread %.1f CPU ms a frame", m.labels, what,
		1000*float64(len(between))/sum, quantiles(between), 1000*(m.spent()["TaskDuration"]-before)/float64(len(between)))
}

// mapFrames measures the map: its first picture, the pointer over it, zoom, pan, a lasso, and the marks that it makes.
func (m measured) mapFrames(s *server) {
	m.TB.Helper()
	before := s.spent(m.TB)
	m.Keys("v")
	m.Until("the map", `Number(document.querySelector("canvas").dataset.draws) >= 1`)
	m.TB.Logf("%d labels: map shown %.0f ms after the key, the server's part %.0f ms, %.1f CPU s", m.labels,
		eval[float64](m.page, `performance.getEntriesByName("map")[0].startTime - meter.key`),
		eval[float64](m.page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("/api/map")).duration`),
		s.spent(m.TB)-before)
	m.frames("pointer over the map", `(n) => send("pointermove", 0.2 + n / 200, 0.4)`, 100)
	m.frames("zoom", `(n) => wheel(0.5, 0.5, n % 20 < 10 ? -100 : 100)`, 100)
	m.Exec(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		for (let n = 0; n < 3; n++) map.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, cancelable: true,
			clientX: r.left + r.width / 2, clientY: r.top + r.height / 2})); }`)
	m.frames("pan", `(n) => send(n ? "pointermove" : "pointerdown", 0.5 + Math.sin(n / 15) / 4,
		0.5 + Math.cos(n / 20) / 4, {button: 1, buttons: 4})`, 100)
	m.Exec(`document.querySelector("canvas").dispatchEvent(new PointerEvent("pointerup", {button: 1}))`)
	m.frames("lasso", `(n) => send(n ? "pointermove" : "pointerdown", 0.5 + Math.cos(6.2 * n / all) / 3,
		0.5 + Math.sin(6.2 * n / all) / 3)`, 300)
	marking := m.spent()["TaskDuration"]
	took := awaited[float64](m.page, `new Promise((done) => {
		const from = performance.now();
		document.querySelector("canvas").dispatchEvent(new PointerEvent("pointerup", {}));
		const c = new MessageChannel();
		c.port1.onmessage = () => done(performance.now() - from);
		requestAnimationFrame(() => c.port2.postMessage(0));
	})`)
	m.TB.Logf("%d labels: marking what the lasso holds %.0f ms to paint, main thread %.1f CPU ms; %s", m.labels, took,
		1000*(m.spent()["TaskDuration"]-marking),
		eval[string](m.page, `document.querySelector(".marks").innerText.split(" ·")[0]`))
}

// spent is the processor time of the server so far, in seconds, from Linux's ticks of 10 ms.
func (s *server) spent(t testing.TB) float64 {
	t.Helper()
	text := mustRead(t, fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	ticks := 0.0
	for _, field := range strings.Fields(text[strings.LastIndex(text, ")"):])[12:14] {
		n := must.Get(strconv.ParseFloat(field, 64))(t)
		ticks += n
	}
	return ticks / 100
}

// bulk moves all labels with a word at once, and takes it back. The time of the move has the typing in it; that of
// the edit alone is the last.
func (m measured) bulk(s *server) {
	m.TB.Helper()
	m.Keys(kb.Escape, "/", "/church/", kb.Enter)
	saved := func() int {
		return eval[int](m.page, `Number(document.getElementById("saved").textContent.replace(/\D/g, ""))`)
	}
	n := saved()
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"mark all found", func() { m.Ctrl("a"); m.Until("marks", `document.querySelector(".marks")`) }},
		{"move them, until saved", func() { m.Keys("m"); m.take("churches"); m.saved(n + 1) }},
		{"take it back, until saved", func() { m.Keys("u"); m.saved(n + 2) }},
	} {
		from, page, server := time.Now(), m.spent()["TaskDuration"], s.spent(m.TB)
		step.do()
		m.TB.Logf("%d labels: %-24s %d ms, main thread %.0f CPU ms, server %.0f CPU ms; %s", m.labels, step.what,
			time.Since(from).Milliseconds(), 1000*(m.spent()["TaskDuration"]-page), 1000*(s.spent(m.TB)-server),
			eval[string](m.page, `document.querySelector(".marks")?.innerText.split(" ·")[0] || ""`))
	}
	m.TB.Logf("%d labels: from the edits to \"saved\": %.0f ms", m.labels,
		eval[[]float64](m.page, `performance.getEntriesByName("edit saved").slice(-2).map((e) => e.duration)`))
}

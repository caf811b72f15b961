//go:build browser

package browsertest

import "fmt"

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

// frames logs how often the map is drawn while step runs.
func (m measured) frames(what, step string, n int) []float64 {
	m.TB.Helper()
	before := m.spent()["TaskDuration"]
	between := awaited[[]float64](m.page, fmt.Sprintf(frameMeter, step, n))
	sum := 0.0
	for _, ms := range between {
		sum += ms
	}
	m.TB.Logf("%d labels: %-24s %.0f frames a second, between frames %s, main thread %.1f CPU ms a frame", m.labels, what,
		1000*float64(len(between))/sum, quantiles(between), 1000*(m.spent()["TaskDuration"]-before)/float64(len(between)))
	return between
}

// mapFrames measures the map: its first picture, the pointer over it, zoom, pan, a lasso, and the marks that it makes.
func (m measured) mapFrames() {
	m.TB.Helper()
	m.Keys("v")
	m.Until("the map", `Number(document.querySelector("canvas").dataset.draws) >= 1`)
	m.TB.Logf("%d labels: map shown %.0f ms after the key, the server's part %.0f ms", m.labels,
		eval[float64](m.page, `performance.getEntriesByName("map")[0].startTime - meter.key`),
		eval[float64](m.page, `performance.getEntriesByType("resource").find((e) => e.name.endsWith("/api/map")).duration`))
	m.frames("pointer over the map", `(n) => send("pointermove", 0.2 + n / 200, 0.4)`, 100)
	m.frames("zoom", `(n) => wheel(0.5, 0.5, n % 20 < 10 ? -100 : 100)`, 100)
	m.Exec(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		for (let n = 0; n < 3; n++) map.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, cancelable: true,
			clientX: r.left + r.width / 2, clientY: r.top + r.height / 2})); }`)
	m.frames("pan", `(n) => send(n ? "pointermove" : "pointerdown", 0.5 + Math.sin(n / 15) / 4,
		0.5 + Math.cos(n / 20) / 4, {button: 1, buttons: 4})`, 100)
	m.Exec(`document.querySelector("canvas").dispatchEvent(new PointerEvent("pointerup", {button: 1}))`)
	m.frames("lasso", `(n) => send(n ? "pointermove" : "pointerdown", 0.5 + Math.cos(n / 48) / 3,
		0.5 + Math.sin(n / 48) / 3)`, 300)
	before := m.spent()["TaskDuration"]
	took := awaited[float64](m.page, `new Promise((done) => {
		const from = performance.now();
		document.querySelector("canvas").dispatchEvent(new PointerEvent("pointerup", {}));
		const c = new MessageChannel();
		c.port1.onmessage = () => done(performance.now() - from);
		requestAnimationFrame(() => c.port2.postMessage(0));
	})`)
	m.TB.Logf("%d labels: marking what the lasso holds %.0f ms to paint, main thread %.1f CPU ms; %s", m.labels, took,
		1000*(m.spent()["TaskDuration"]-before),
		eval[string](m.page, `document.querySelector(".marks").innerText.split(" ·")[0]`))
}

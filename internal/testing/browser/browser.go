//go:build browser

// Package browser drives a headless Chromium in tests and checks that pages can be read: their
// contrast, their layout and, by axe-core, their accessibility. Tests that use it have the
// build tag browser and are run by scripts/check_browser.
package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Tab is a tab of a Chromium. Its methods fail the test if the browser fails.
type Tab struct {
	// TB is the test that the tab belongs to.
	TB testing.TB

	ctx  context.Context
	dark bool

	mu      sync.Mutex
	trouble []string // errors, refusals of the content policy and dialogs
	ignore  bool
}

// shared is the Chromium of a package's tests, nil if each test starts its own.
var shared context.Context

// Main runs the tests of a package in one Chromium, whose start takes longer than most of them, and
// returns their exit code. Each call of New has a profile of its own in it.
func Main(m *testing.M) int {
	ctx, end := launch()
	defer end()
	if err := chromedp.Do(ctx); err != nil { // starts it: contexts made of this one share it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = ctx
	return m.Run()
}

func launch() (context.Context, func()) {
	allocated, endAllocator := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))...)
	ctx, end := chromedp.NewContext(allocated)
	return ctx, func() { end(); endAllocator() }
}

// New opens a tab of the given size in CSS pixels, in the dark or the light colour scheme, in a
// profile of its own: no cookie and nothing stored is shared. Nothing that a page requests
// leaves the machine. The profile ends with the test. The test then fails if the page logged an
// error, violated its content policy or opened a dialog.
func New(tb testing.TB, width, height int, dark bool) *Tab {
	tb.Helper()
	var ctx context.Context
	var end func()
	if shared != nil {
		ctx, end = chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	} else {
		ctx, end = launch()
	}
	tb.Cleanup(end)
	return start(&Tab{TB: tb, ctx: ctx, dark: dark}, width, height)
}

// NewTab opens another tab of the same browser.
func (b *Tab) NewTab() *Tab {
	b.TB.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	b.TB.Cleanup(end)
	return start(&Tab{TB: b.TB, ctx: ctx, dark: b.dark}, 1280, 800)
}

func start(b *Tab, width, height int) *Tab {
	b.TB.Helper()
	b.Resize(width, height)
	scheme := "light"
	if b.dark {
		scheme = "dark"
	}
	b.Run(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
	b.listen()
	b.TB.Cleanup(b.reportTrouble)
	return b
}

// Context is the tab's context, for calls of chromedp.
func (b *Tab) Context() context.Context { return b.ctx }

// listen notes errors of the page, violations of its content policy, and dialogs. Requests
// that fail while a server is gone, or that it refuses, are expected.
func (b *Tab) listen() {
	note := func(text string) {
		b.mu.Lock()
		b.trouble = append(b.trouble, text)
		b.mu.Unlock()
	}
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Source == "security" || m.Type == chromedp.ConsoleError && m.Source != "network" {
				note(m.String())
			}
		}
	}()
	dialogs := chromedp.Events(b.ctx, page.JavascriptDialogOpening)
	go func() {
		for e, err := range dialogs {
			if err != nil {
				return
			}
			if e.Type != page.DialogTypeBeforeunload {
				note("dialog: " + e.Message)
			}
			if _, err := chromedp.Call(b.ctx, page.HandleJavaScriptDialog,
				page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
				return
			}
		}
	}()
}

// IgnoreTrouble accepts errors and dialogs of the page, for a page that is wrong on purpose.
func (b *Tab) IgnoreTrouble() {
	b.mu.Lock()
	b.ignore = true
	b.mu.Unlock()
}

func (b *Tab) reportTrouble() {
	b.TB.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ignore {
		return
	}
	for _, text := range b.trouble {
		b.TB.Errorf("the page: %s", text)
	}
}

// Run runs actions, within five minutes.
func (b *Tab) Run(actions ...chromedp.Action[chromedp.Void]) {
	b.TB.Helper()
	Evaluated(b, chromedp.Steps(actions...))
}

// Evaluated runs an action, within five minutes, and returns its value.
func Evaluated[T any](b *Tab, action chromedp.Action[T]) T {
	b.TB.Helper()
	value, err := tried(b, action)
	if err != nil {
		b.TB.Fatal(err)
	}
	return value
}

// tried runs an action, within five minutes, and returns its value or its error.
func tried[T any](b *Tab, action chromedp.Action[T]) (T, error) {
	b.TB.Helper()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := chromedp.Run(b.ctx, action)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(5 * time.Minute):
		b.TB.Fatal("the browser did not answer in five minutes")
		panic("unreachable")
	}
}

// Eval evaluates JavaScript in the page and returns its value.
func Eval[T any](b *Tab, expression string) T {
	b.TB.Helper()
	return Evaluated(b, chromedp.Evaluate[T](expression))
}

// Exec evaluates JavaScript in the page for its effect.
func (b *Tab) Exec(script string) {
	b.TB.Helper()
	b.Run(chromedp.Evaluate[chromedp.Void](script))
}

// Until asks again after a pause, and gives up when patience has an end. Other processes may take the
// processor for a long time, so that only what never comes true may reach it.
const (
	pause    = 25 * time.Millisecond
	patience = 2 * time.Minute
)

// Until waits until an expression is true. A page that reloads itself meanwhile interrupts the
// question; it is asked again.
func (b *Tab) Until(what, expression string) {
	b.TB.Helper()
	for range int(patience / pause) {
		asked := "(() => { try { return !!(" + expression + "); } catch { return false; } })()"
		is, err := tried(b, chromedp.Evaluate[bool](asked))
		if err != nil && !strings.Contains(err.Error(), "target navigated") {
			b.TB.Fatal(err)
		}
		if is {
			return
		}
		time.Sleep(pause)
	}
	b.TB.Fatalf("not in two minutes: %s (%s); the page shows:\n%s", what, expression,
		Eval[string](b, `document.body.innerText.replace(/[ \t]+/g, " ").replace(/\n\s*/g, "\n").slice(0, 2000)`))
}

// ready is true once a page has marked its body as ready.
const ready = `document.body && document.body.dataset.ready === "yes"`

// Open opens a page and waits until it is ready: until its body has data-ready="yes".
func (b *Tab) Open(url string) {
	b.TB.Helper()
	b.Run(chromedp.Navigate(url))
	b.Until("the page is ready", ready)
}

// Reload reloads the page and waits until it is ready again.
func (b *Tab) Reload() {
	b.TB.Helper()
	b.Run(chromedp.Reload())
	b.Until("the page is ready again", ready)
}

// Resize gives the page a viewport of the given size in CSS pixels.
func (b *Tab) Resize(width, height int) {
	b.TB.Helper()
	b.Run(chromedp.EmulateViewport(int64(width), int64(height)))
}

// Text returns what an element shows, "" if there is no such element.
func (b *Tab) Text(selector string) string {
	b.TB.Helper()
	return Eval[string](b, fmt.Sprintf(`(document.querySelector(%q)||{}).innerText||""`, selector))
}

// Shot writes a screenshot into the folder $HGLD_SHOTS, if that is set.
func (b *Tab) Shot(name string) {
	b.TB.Helper()
	dir := os.Getenv("HGLD_SHOTS")
	if dir == "" {
		return
	}
	time.Sleep(150 * time.Millisecond)
	png := Evaluated(b, chromedp.CaptureScreenshot())
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.TB.Fatal(err)
	}
}

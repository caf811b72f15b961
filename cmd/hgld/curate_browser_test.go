//go:build browser

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The tests below drive the page of `hgld curate serve` in a real headless
// Chromium. They are built with the tag browser, by scripts/check_browser; with
// HGLD_SHOTS they leave screenshots of every screen there.

// served is a running `hgld curate serve`.
type served struct {
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	url  string // the one-time link

	mu    sync.Mutex
	links []string // those printed later
}

// serveIn starts the server in a folder.
func serveIn(t testing.TB, dir string, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: dir, args: args}
	s.start()
	t.Cleanup(func() {
		if s.cmd != nil {
			s.cmd.Process.Kill()
			s.cmd.Wait() // killed: that is how it ends
		}
	})
	return s
}

func (s *served) start() {
	s.t.Helper()
	s.cmd = exec.Command(hgldBinary(s.t), append([]string{"curate", "serve"}, s.args...)...)
	s.cmd.Dir = s.dir
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	var errs strings.Builder
	s.cmd.Stderr = &errs
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		s.cmd.Wait()
		s.t.Fatalf("curate serve printed no link:\n%s", errs.String())
	}
	s.url = s.link(lines.Text())
	s.links = nil
	go func() {
		for lines.Scan() {
			link := s.link(lines.Text())
			s.mu.Lock()
			s.links = append(s.links, link)
			s.mu.Unlock()
		}
	}()
}

// link reads a link from the file that a line of the server names.
func (s *served) link(line string) string {
	_, name, _ := strings.Cut(line, ": the link in ")
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Errorf("curate serve printed %q: %v", line, err)
	}
	return strings.TrimSpace(string(data))
}

// next waits for the link that is printed when the last one was used.
func (s *served) next() string {
	s.t.Helper()
	for range 1500 {
		s.mu.Lock()
		n := len(s.links)
		s.mu.Unlock()
		if n > 0 {
			return s.links[n-1]
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatal("no other link was printed")
	return ""
}

// kill ends the server as a crash would.
func (s *served) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait() // killed: that is the point
}

// stop ends it as ctrl-C does.
func (s *served) stop() {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGINT)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("curate serve ended with %v", err)
	}
	s.cmd = nil
}

var buildHgld = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hgld")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hgld")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// hgldBinary is the hgld under test: $HGLD_BINARY, or built here.
func hgldBinary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("HGLD_BINARY"); path != "" {
		return path
	}
	path, err := buildHgld()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// browser is a tab of a Chromium.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu      sync.Mutex
	trouble []string // errors, refusals of the content policy and dialogs
}

// newBrowser starts Chromium. Nothing that the page asks for leaves the machine.
func newBrowser(t testing.TB, width, height int, dark bool) *browser {
	t.Helper()
	scheme := 1
	if dark {
		scheme = 0
	}
	allocated, endAllocator := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(width, height),
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
			chromedp.Flag("blink-settings", fmt.Sprintf("preferredColorScheme=%d", scheme)))...)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(func() { end(); endAllocator() })
	b := &browser{t: t, ctx: ctx}
	b.run(chromedp.EmulateViewport(int64(width), int64(height)))
	b.listen()
	return b
}

// tab opens another tab of the same browser.
func (b *browser) tab() *browser {
	b.t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	b.t.Cleanup(end)
	other := &browser{t: b.t, ctx: ctx}
	other.run(chromedp.EmulateViewport(1280, 800))
	other.listen()
	return other
}

// listen notes errors of the page, what its content policy refuses, and dialogs:
// a page in order causes none. Requests that fail while a server is gone, or that
// it refuses, are expected.
func (b *browser) listen() {
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

// clean reports what the page did wrong.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.trouble {
		b.t.Errorf("the page: %s", text)
	}
}

// run does actions, within a minute.
func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	evaluated(b, chromedp.Steps(actions...))
}

// evaluated runs an action and returns what it gives.
func evaluated[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	value, err := tried(b, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// tried runs an action, within a minute, and returns what it gives or fails by.
func tried[T any](b *browser, action chromedp.Action[T]) (T, error) {
	b.t.Helper()
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
	case <-time.After(time.Minute):
		b.t.Fatal("the browser did not answer in a minute")
		panic("unreachable")
	}
}

// eval evaluates JavaScript in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return evaluated(b, chromedp.Evaluate[T](expression))
}

// open opens the page and waits until it is ready.
func (b *browser) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
	b.until("the page is ready", `document.body && document.body.dataset.ready === "yes"`)
}

// openHere opens a link in a tab where the page stands: that loads nothing.
func (b *browser) openHere(url string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.href = %q", url)))
}

// keys types on what has the focus; special keys are those of kb.
func (b *browser) keys(text ...string) {
	b.t.Helper()
	b.press(strings.Join(text, ""))
}

// press types keys as a keyboard does: a key whose default the page prevents
// types no letter.
func (b *browser) press(text string, modifiers ...kb.Modifier) {
	b.t.Helper()
	b.run(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		for _, r := range text {
			events := kb.Encode(r)
			for _, e := range events {
				for _, m := range modifiers {
					e.Modifiers |= int64(m)
				}
			}
			if len(events) == 3 { // down, letter, up
				if events[0].Type = kb.KeyDown; len(modifiers) > 0 {
					events[0].Text = ""
				} else {
					events[0].Text = events[1].Text
				}
				events = []*input.DispatchKeyEventParams{events[0], events[2]}
			}
			for _, e := range events {
				if _, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// ctrl types a letter with the control key.
func (b *browser) ctrl(letter string) {
	b.t.Helper()
	b.press(letter, kb.ModifierCtrl)
}

// text reads what an element shows.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`(document.querySelector(%q)||{}).innerText||""`, selector))
}

// until waits until an expression is true. A page that opens itself anew meanwhile
// cuts a question off: it is asked again.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	for range 1200 {
		asked := "(() => { try { return !!(" + expression + "); } catch { return false; } })()"
		is, err := tried(b, chromedp.Evaluate[bool](asked))
		if err != nil && !strings.Contains(err.Error(), "target navigated") {
			b.t.Fatal(err)
		}
		if is {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	b.t.Fatalf("not in 30 s: %s (%s); the page shows:\n%s", what, expression,
		eval[string](b, `[...document.querySelectorAll("#saved, #alarm, #head, #side, dialog, #tree, #grid")].map(e => e.innerText.replace(/\s+/g, " ").slice(0, 400)).join("\n")`))
}

// saved waits until the page says that edit n is on disk.
func (b *browser) saved(n int) {
	b.t.Helper()
	b.until(fmt.Sprintf("saved #%d", n), fmt.Sprintf(`document.getElementById("saved").textContent === "saved #%d"`, n))
}

// shot takes a screenshot if HGLD_SHOTS names a folder.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("HGLD_SHOTS")
	if dir == "" {
		return
	}
	time.Sleep(150 * time.Millisecond)
	png := evaluated(b, chromedp.CaptureScreenshot())
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// smallProject is a draft of a few tags in four clusters, by the command line.
func smallProject(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	names := []string{"church", "church building", "wooden church", "cathedral", "chapel", "parish church", "hill",
		"mountain", "mountain range", "hill range", "volcano mountain",
		"river", "river mouth", "small river", "lake", "lake shore", "bridge", "road bridge", "railway bridge",
		"footbridge bridge", "art  museum", " museum", "history museum"}
	writeTags(t, filepath.Join(dir, "tags.jsonl"), names)
	runHgld(t, dir, "cluster", "run", "--encoder", "hashing", "--k", "5", "--quiet")
	return dir
}

// writeTags writes a tags.jsonl in which tag i has len(names)−i landmarks.
func writeTags(t testing.TB, path string, names []string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"hgld_tags":1}`)
	id := 0
	for i, name := range names {
		for range max(1, min(40, len(names)-i)) {
			id++
			line, err := json.Marshal(map[string]any{"landmark_id": id, "split": "train",
				"category": fmt.Sprintf("https://commons.wikimedia.org/wiki/Category:Place_%d", id), "outcome": "ok", "tag": name})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(w, "%s\n", line)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// runHgld runs the command line and returns what it prints.
func runHgld(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(hgldBinary(t), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hgld %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

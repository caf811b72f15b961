package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/iotrace"
)

// curator sends edits to a server as the page does.
type curator struct {
	base, token  string
	acknowledged []string // ids, in the order of the answers
}

// ask sends a request and decodes the answer; 0 is no answer.
func (c *curator) ask(method, path, body string, v any) int {
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("X-Hgld-Token", c.token)
	r.Header.Set("Origin", c.base)
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(v) != nil {
		return 0
	}
	return resp.StatusCode
}

// servedEdits is how many edits a curator sends.
const servedEdits = 4

// work opens the page by its link and sends edits, all of them, whatever is answered.
func (c *curator) work(link string) {
	base, key, _ := strings.Cut(strings.TrimSpace(link), "/#key=")
	c.base = base
	var open struct{ Token string }
	c.ask("POST", "/api/open", fmt.Sprintf(`{"key":%q}`, key), &open)
	c.token = open.Token
	for n := range servedEdits {
		var state struct {
			Draft   string
			Version int
		}
		c.ask("GET", "/api/state", "", &state)
		id := fmt.Sprintf("edit-%d-%d", time.Now().UnixNano(), n)
		edit := fmt.Sprintf(`{"id":%q,"draft":%q,"base":%d,"op":"move","from":[{"name":"bridge"}],"to":%q}`,
			id, state.Draft, state.Version, id)
		if c.ask("POST", "/api/edit", edit, &struct{}{}) == http.StatusOK {
			c.acknowledged = append(c.acknowledged, id)
		}
	}
	c.ask("POST", "/api/finish", "{}", &struct{}{})
}

// served runs the server, by run, and a curator who works and then stops it.
func (w *faultWorker) served(run func(ctx context.Context, cmd *exec.Cmd)) (c *curator, code int, text string) {
	// A server that a fault ended may have left its link, which leads nowhere.
	linkFile := filepath.Join(w.dir, "anna.jsonl.link")
	_ = os.Remove(linkFile)
	cmd, out := hgldIn(w.t, w.dir, "curate", "serve", "--port", "0", "--log", "anna.jsonl", "--out", "served.json")
	ctx, stop := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, cmd)
	}()
	c = &curator{}
	for link := ""; link == ""; {
		data, _ := os.ReadFile(linkFile)
		if link = string(data); link != "" {
			c.work(link)
			pid, err := os.ReadFile(filepath.Join(w.dir, "anna.jsonl.lock"))
			number, _, _ := strings.Cut(string(pid), " ")
			if n, bad := strconv.Atoi(number); err == nil && bad == nil {
				_ = syscall.Kill(n, syscall.SIGTERM)
			}
		}
		select {
		case <-ended:
			link = "none any more"
		case <-time.After(2 * time.Millisecond):
		}
	}
	<-ended
	if cmd.ProcessState == nil {
		return c, -1, out.String()
	}
	return c, cmd.ProcessState.ExitCode(), out.String()
}

// plainly runs a server without a fault, and kills it when ctx ends.
func plainly(ctx context.Context, cmd *exec.Cmd) {
	if cmd.Start() != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	_ = cmd.Wait()
}

// loggedIDs are the ids of the edits behind those of the finished project.
func (w *faultWorker) loggedIDs() ([]string, error) {
	c, err := curate.ReadLog(filepath.Join(w.dir, "anna.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(c.Edits) < finishedEdits {
		return nil, fmt.Errorf("%d edits, and %d of before", len(c.Edits), finishedEdits)
	}
	var ids []string
	for _, e := range c.Edits[finishedEdits:] {
		var id string
		if err := json.Unmarshal(e.Extra["id"], &id); err != nil {
			return nil, fmt.Errorf("edit %d has no id: %w", e.Seq, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// finishedEdits are in anna.jsonl when every stage is done.
const finishedEdits = 4

// tryServer serves with one fault, and again without.
func (w *faultWorker) tryServer(f iotrace.Fault) (where string, hit bool, code int, findings []string) {
	w.done.restore(w.t, w.dir)
	u := &undisturbed{before: w.done}
	var at *iotrace.Call
	c, code, text := w.served(func(ctx context.Context, cmd *exec.Cmd) { at, _ = iotrace.Inject(ctx, cmd, w.dir, f) })
	find := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	ids, err := w.loggedIDs()
	switch {
	case err != nil:
		find("the log: %v", err)
	case len(ids) > servedEdits:
		find("%d edits were sent, %d are in the log", servedEdits, len(ids))
	}
	for _, id := range c.acknowledged {
		if !slices.Contains(ids, id) {
			find("%s was acknowledged and is not in the log", id)
		}
	}
	switch {
	case strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") || code < 0:
		find("exit code %d: %.2000s", code, text)
	case at == nil:
		return "", false, code, findings
	case code != 0 && !slices.Contains(documented, code):
		find("exit code %d: %s", code, text)
	case code != 0 && !w.names(u, text, at):
		find("the message does not name the file: %s", text)
	}
	again, code2, text := w.served(plainly)
	now, err := w.loggedIDs()
	if code2 != 0 || len(again.acknowledged) != servedEdits || err != nil ||
		!slices.Equal(now, append(ids, again.acknowledged...)) {
		find("the next server: exit code %d, %d edits acknowledged, %v in the log: %v %s",
			code2, len(again.acknowledged), now, err, text)
	}
	return varying.ReplaceAllString(at.String(), "#"), true, code, findings
}

// TestFailingCallLosesNoAcknowledgedEdit is TestFailingCallLosesNothing for the page's
// server: what it has acknowledged is in the log, the log can be read, and the next server
// goes on with it.
func TestFailingCallLosesNoAcknowledgedEdit(t *testing.T) {
	most, seed := faultsAsked(t)
	workers := []*faultWorker{newFaultWorker(t, most)}
	if most > 1 {
		workers = append(workers, newFaultWorker(t, most))
	}
	var calls []iotrace.Call
	w := workers[0]
	if c, code, text := w.served(func(ctx context.Context, cmd *exec.Cmd) {
		calls, _ = iotrace.Count(ctx, cmd, w.dir)
	}); code != 0 || len(c.acknowledged) != servedEdits {
		t.Fatalf("without a fault: exit code %d, %d edits acknowledged\n%s", code, len(c.acknowledged), text)
	}
	queue, _ := chooseFaults(calls, most, rand.New(rand.NewPCG(seed, 1000)))
	var mu sync.Mutex
	total := faultTally{}
	var wait sync.WaitGroup
	for _, w := range workers {
		wait.Go(func() {
			for j := range queue {
				f := faults[j.fault]
				where, hit, code, findings := w.tryServer(iotrace.Fault{Err: f.err, N: j.n})
				mu.Lock()
				one := faultTally{tried: 1, findings: len(findings)}
				switch {
				case !hit:
					one.missed = 1
				case code == 0:
					one.succeeded = 1
				default:
					one.refused = 1
				}
				total.add(one)
				for _, text := range findings {
					t.Errorf("%s, %s: %s", f.name, where, text)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("curate serve: %d calls, %d faults: %d runs went on, %d ended, %d made fewer calls; %d findings",
		len(calls), total.tried, total.succeeded, total.refused, total.missed, total.findings)
}

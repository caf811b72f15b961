//go:build browser

package browsertest

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/program"
)

// server is a running `hgld curate serve`.
type server struct {
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	url  string // the one-time link
	port string // the same after a restart

	mu    sync.Mutex
	links []string // those printed later
}

// startServer starts the server in a folder.
func startServer(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, args: args, port: "0"}
	s.start()
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(program.Path(s.t), append([]string{"curate", "serve", "--port", s.port}, s.args...)...)
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
	link, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.port, s.links = link.Port(), nil
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
func (s *server) link(line string) string {
	_, name, _ := strings.Cut(line, ": the link in ")
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Errorf("curate serve printed %q: %v", line, err)
	}
	return strings.TrimSpace(string(data))
}

// address is the address of the page, without the key of a link.
func (s *server) address() string { return fmt.Sprintf("http://127.0.0.1:%s/", s.port) }

// nextLink waits for the link that is printed after the last one was used.
func (s *server) nextLink() string {
	s.t.Helper()
	for range 6000 {
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
func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait() // it returns an error, since the process was killed
}

// stop ends the server as ctrl-C does.
func (s *server) stop() {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGINT)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("curate serve ended with %v", err)
	}
	s.cmd = nil
}

// edits reads the log of the server.
func (s *server) edits() []curate.Edit {
	s.t.Helper()
	log := "edits.jsonl"
	if i := slices.Index(s.args, "--log"); i >= 0 {
		log = s.args[i+1]
	}
	c, err := curate.ReadLog(filepath.Join(s.dir, log))
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Edits
}

// lastEdit reads the last edit of the log.
func (s *server) lastEdit() curate.Edit {
	s.t.Helper()
	edits := s.edits()
	return edits[len(edits)-1]
}

// names are the labels of an edit.
func names(e curate.Edit) []string {
	var list []string
	for _, r := range e.From {
		list = append(list, r.Name)
	}
	return list
}

// targets are the groups that edits lead to.
func targets(edits []curate.Edit) []string {
	var list []string
	for _, e := range edits {
		list = append(list, e.To)
	}
	return list
}

// adjudicating are the arguments to adjudicate two logs into third.jsonl.
func adjudicating(logs ...string) []string {
	args := []string{"--log", "third.jsonl", "--by", "Chris"}
	for _, log := range logs {
		args = append(args, "--adjudicate", log)
	}
	return args
}

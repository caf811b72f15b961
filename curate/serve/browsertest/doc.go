// Package browsertest tests the page of `hgld curate serve` in a headless Chromium. The tests run
// the built program: they kill it, restart it, and read the links that it prints.
package browsertest

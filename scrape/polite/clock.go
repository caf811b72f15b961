package polite

import (
	"context"
	"time"

	"hgld/internal/retry"
)

// Clock tells the time and waits. Tests use one whose waits take no time.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// Sleep waits for d. It returns ctx's error if ctx ends first, and returns
	// immediately if d is not positive.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the system's clock.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep waits for d or until ctx ends.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

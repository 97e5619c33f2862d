package traffic

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestReal(t *testing.T) {
	a := os.Getenv("REAL")
	if a == "" {
		t.Skip()
	}
	n, _ := strconv.Atoi(os.Getenv("CONNS"))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	f, err := strconv.ParseFloat(os.Getenv("FACTOR"), 64)
	if err != nil {
		f = 1.2
	}
	start := time.Now()
	r, err := Filler{Address: a, Connections: n, Factor: f, Seed: 1}.Fill(ctx)
	t.Logf("%+v %v %v", r, err, time.Since(start))
}

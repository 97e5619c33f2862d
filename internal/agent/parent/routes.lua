-- SPDX-FileCopyrightText: The Memcached Operator Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The routes of a proxy, for memcached's library of routes, routelib. This program reads values from a file beside it, which the
-- parent writes. The parent checks the values first, because an error in this program can end the proxy and drop its clients.

local values = {}
for line in io.lines((mcp.start_arg:gsub("%.lua$", ".values"))) do
    local key, value = line:match("^(%S+) (%S+)$")
    values[key] = value
end

-- slots_of returns the nodes of a pool in the order of their ordinals, and their names. Clients that connect to the nodes directly hash
-- the same names. The parent looks up the addresses, because memcached would wait for DNS in the threads that serve clients. When
-- memcached reads this program again, nodes with the same address keep their connections.
local function slots_of(pattern)
    local slots, names = {}, {}
    for i = 0, math.tointeger(values.count) - 1 do
        local name = pattern:gsub("%%d", i)
        if values[name] then
            slots[i + 1] = { label = name, host = values[name], port = "11211" }
        else -- nothing listens on this port, so memcached counts the node as unreachable
            slots[i + 1] = { label = name, host = "127.0.0.1", port = "1" }
        end
        names[i + 1] = name
    end
    if #slots == 0 then
        slots[1] = { label = "none", host = "none", port = "11211", down = true }
        names[1] = "none"
    end
    return slots, names
end

-- The first failure may just mean that a node has closed an idle connection, so memcached connects again at once. A node that hangs
-- therefore costs two timeouts, one second together, before it counts as unreachable. From then on, memcached tries it once a second.
local patience = { connecttimeout = 0.5, readtimeout = 0.5, failurelimit = 1, retrytimeout = 1 }

-- Answers that clients read slowly occupy memory, and so does each key of a get. Above these limits, further requests get errors, and
-- the proxy does not run out of memory.
settings{ buffer_memory_limit = math.tointeger(values.buffers), active_req_limit = math.tointeger(values.requests) }

-- A single pool uses the hash ring of libmemcached, so that direct clients and all proxies find the same node for a key. If the node is
-- unreachable, get, gets and mg are misses: the proxy's own storage answers them, and it is empty. Other commands get an error.
local function single(slots, names)
    local ring = {
        hash = mcp.dist_ring_hash.hash,
        new = function(servers, options)
            for i, server in ipairs(servers) do
                server.addr, server.port = names[i], "11211"
            end
            return mcp.dist_ring_hash.new(servers, options)
        end,
    }
    local options = { dist = ring, hash = ring.hash, omode = "twemproxy", obuckets = 160 }
    pools{ main = { options = options, backend_options = patience, backends = slots } }
    local function reading()
        return route_reads{ child = "main" }
    end
    routes{
        cmap = { get = reading(), gets = reading(), mg = reading() },
        default = route_others{ child = "main" },
    }
end

-- Several pools use memcached's own jump hash, so that node i of each pool holds the same keys. See copies.lua.
local function copies(patterns)
    local children = {}
    for i, pattern in ipairs(patterns) do
        children[i] = "copy" .. i
        pools{ [children[i]] = { backend_options = patience, backends = (slots_of(pattern)) } }
    end
    routes{ default = route_copies{ children = children } }
end

local patterns = {}
while values["name" .. #patterns + 1] do
    patterns[#patterns + 1] = values["name" .. #patterns + 1]
end
if #patterns == 1 then
    single(slots_of(patterns[1]))
else
    copies(patterns)
end

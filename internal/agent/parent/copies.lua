-- SPDX-FileCopyrightText: The Memcached Operator Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- The route "copies" for several pools, and the routes "reads" and "others" for one pool. memcached loads this file beside its own
-- library of routes, routelib. A pool is a group of memcacheds (nodes) that divide the keys. If there are several pools, each pool
-- holds all items. The copies of a request are the nodes that hold its key, one in each pool. A client gets the answer that a single
-- memcached would give, even while one of the copies is unreachable or empty.

-- The weights of answers, in ascending order. The heaviest answer counts: a copy that has the key knows more than an empty copy, and
-- an empty copy knows more than one that is unreachable.
local AWAY <const>, ERROR <const>, ABSENT <const>, REFUSED <const>, DONE <const> = 0, 1, 2, 3, 4

local absent = { [mcp.MCMC_CODE_NOT_FOUND] = true, [mcp.MCMC_CODE_NOT_STORED] = true, [mcp.MCMC_CODE_END] = true }

local function weight(answer)
    local code = answer:code()
    if answer:ok() then
        return absent[code] and ABSENT or DONE
    elseif code ~= mcp.MCMC_CODE_SERVER_ERROR then
        return REFUSED
    end
    return answer:raw_string() and ERROR or AWAY
end

-- meta makes a meta command for the key of a request. The flag b says that the key is in base64.
local function meta(command, request, flags, value)
    return mcp.request(command .. " " .. request:key() .. (flags or "") .. (request:has_flag("b") and " b" or "") .. "\r\n", value)
end

-- miss lets the proxy's own storage, which is empty, answer a read. For an mg, it makes a new request with the flags that matter for a
-- miss. The old request is not usable: when memcached sends a request to a node, it replaces the flag q by a space, and the proxy's
-- own storage refuses such a request.
local function miss(rctx, copies, request)
    if request:command() == mcp.CMD_MG then
        local has_opaque, opaque = request:flag_token("O")
        request = meta("mg", request, (has_opaque and " O" .. (opaque or "") or "") .. (request:has_flag("k") and " k" or "") ..
            (request:has_flag("q") and " q" or ""))
    end
    return rctx:enqueue_and_wait(request, copies.internal)
end

-- read asks one copy after another until one has the key, and returns that answer and the copy's number. Otherwise, it returns the first
-- answer without the key, else the first refusal (any error but SERVER_ERROR), else a miss.
local function read(rctx, copies, request)
    local none, refused
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        if answer:hit() then
            if i > 1 then
                mcp.stat(copies.found[i], 1)
            end
            return answer, i
        elseif answer:ok() then
            none = none or answer
        elseif weight(answer) == REFUSED then
            refused = refused or answer
        end
    end
    return none or refused or miss(rctx, copies, request)
end

-- One in SAMPLE hits is also read from the copies after the one that has answered. "samples" is how many of these reads of this thread
-- have no answer yet. MOST_SAMPLES limits it: otherwise, a slow copy would use up the requests that the proxy may have at the same time.
local SAMPLE <const>, MOST_SAMPLES <const> = 8, 64
local samples = 0

-- is_stale reports whether the answer to an mg has an item that a client has marked as stale. Each copy of a stale item gives a token
-- to the next mg. This mg must come from a client, so stale items are not sampled.
local function is_stale(request, answer)
    return request:command() == mcp.CMD_MG and (" " .. (answer:line() or "")):find(" X")
end

-- read_all reads, and also sends a sample of the hits to the later copies, without waiting for their answers. Without these reads, a
-- full copy would evict the items, as nobody reads them there. A full copy keeps an item that is sampled twice before clients have stored
-- as much as the copy's memory holds.
local function read_all(rctx, copies, request)
    local answer, from = read(rctx, copies, request)
    if from and from < #copies.spare and samples < MOST_SAMPLES and math.random(SAMPLE) == 1 and not is_stale(request, answer) then
        local later = table.move(copies.spare, from + 1, #copies.spare, 1, {})
        samples = samples + #later
        rctx:enqueue(meta("mg", request), later)
        rctx:wait_cond(0)
    end
    return answer
end

-- stamp returns a CAS number that is greater than all that this proxy has given, and that hardly ever another proxy gives. Each write
-- gives one to its item (flag E), so that all copies of the item have the same. It has 53 bits until 2043: some clients know no more.
local START_OF_2026 <const>, own <const>, last = 1767225600000, math.random(0, 255), 0
local function stamp()
    last = math.max(last + 1, mcp.time_real_millis() - START_OF_2026 << 6)
    return tostring(last << 8 | own)
end

-- ask sends a write to copy i, and returns the answer, its weight, whether the write has changed something, and whether the item was there
-- before ("makes" means that the write may make it; the request "me" before it tells). "number" is the CAS number of a change of a counter:
-- memcached 1.6.45 forgets the flag E if the counter becomes longer. The request "me" after the change tells, and an append of nothing
-- repairs that. ask does not wait for the repair, because the next write of the key may be on its way already.
local function ask(rctx, copies, request, i, makes, number)
    local me = (makes or number) and meta("me", request)
    if makes then
        rctx:enqueue(me, copies.before[i])
    end
    rctx:enqueue(request, copies.ask[i])
    if number then
        rctx:enqueue(me, copies.after[i])
    end
    -- In the order of the answers: memcached never ends a wait for a handle that has failed during the wait for another.
    local before = makes and rctx:wait_handle(copies.before[i])
    local answer = rctx:wait_handle(copies.ask[i])
    local after, says = number and rctx:wait_handle(copies.after[i]), weight(answer)
    local changed = says == DONE and answer:code() ~= mcp.MCMC_CODE_EXISTS
    local has = after and changed and (after:raw_string() or ""):match(" cas=(%d+)")
    if has and has ~= number then
        rctx:enqueue(meta("ms", request, " 0 MA C" .. has .. " E" .. number, "\r\n"), copies.repair[i])
    end
    return answer, says, changed, before and weight(before) == DONE
end

-- relax makes a request unconditional, for the copies after the one that has executed it. A set that may mark its value as stale (flag I)
-- keeps its condition. When memcached sent the request, it replaced the flag q by a space, so relax may have to add it again.
local function relax(request)
    local quiet, _, mode = request:has_flag("q"), request:flag_token("M")
    request:flag_del("N")
    if mode == "R" then
        request:flag_del("M")
    end
    if request:command() ~= mcp.CMD_MS or not request:has_flag("I") then
        request:flag_del("C")
    end
    if quiet and not request:has_flag("q") then
        request:flag_add("q")
    end
end

-- pass sends a write from copy to copy. The first copy that has the item decides, and the copies after it execute the write without a
-- condition. memcached continues requests in the order of a node's answers, and sends them in this order, so all copies execute the writes
-- of a key in the same order. This needs one thread: each thread has its own connections.
--
-- A write may make the item ("adds", or the flag N). Then the copies before the first that has it forget what they have just made, or what
-- a fill has given them meanwhile. A copy that has not executed the write forgets the key too: no value is better than an old one. Nothing
-- waits for that. "number" is as in ask. "reads" means that the request changes nothing if a copy has the item. pass returns the answer
-- and its weight.
local function pass(rctx, copies, request, adds, number, reads)
    local makes, owner, best, most, lack, wrong = request:has_flag("N"), nil, nil, -1, {}, {}
    for i = 1, #copies.ask do
        local answer, says, changed, had = ask(rctx, copies, request, i, makes, number)
        if says <= ERROR or owner and not changed and says ~= ABSENT then
            wrong[#wrong + 1] = i
        elseif not owner and (changed and (adds or makes and not had) or says == ABSENT and not adds) then
            lack[#lack + 1] = i
        elseif not owner then
            owner, most = answer, DONE
            if reads or not changed then
                wrong = {}
                break
            end
            relax(request)
        end
        if says > most then
            best, most = answer, says
        end
    end
    if owner then
        table.move(lack, 1, #lack, #wrong + 1, wrong)
    elseif most <= ERROR then
        return best, most
    end
    for _, i in ipairs(wrong) do
        rctx:enqueue(meta("md", request), copies.spare[i])
    end
    if number or #wrong > 0 then
        rctx:wait_cond(0)
    end
    return owner or best, most
end

-- memcached's own limits: a node refuses a meta command with more tokens, and a key with more bytes.
local MOST_TOKENS <const>, LONGEST_KEY <const> = 20, 250
local REFUSAL <const> = "CLIENT_ERROR bad command line format\r\n"

-- The text commands become meta commands, because only these can set the CAS number. They are edited where they are: another request would
-- hold the value until Lua collects garbage. An edit also ends the line as memcached's own functions expect it.
local modes <const> = { [mcp.CMD_ADD] = "E", [mcp.CMD_REPLACE] = "R", [mcp.CMD_APPEND] = "A", [mcp.CMD_PREPEND] = "P" }
local words <const> = {
    [mcp.MCMC_CODE_OK] = "STORED\r\n", [mcp.MCMC_CODE_NOT_STORED] = "NOT_STORED\r\n", [mcp.MCMC_CODE_EXISTS] = "EXISTS\r\n",
    [mcp.MCMC_CODE_NOT_FOUND] = "NOT_FOUND\r\n",
}

local function store(rctx, copies, request, quiet)
    local command = request:command()
    local flags, lifetime, size = request:token_int(3), request:token_int(4), request:token_int(5)
    local cas = command ~= mcp.CMD_CAS or request:token_int(6)
    local count = (command == mcp.CMD_CAS and 6 or 5) + (quiet and 1 or 0)
    if not (flags and lifetime and size and cas) or request:ntokens() ~= count then
        return REFUSAL
    end
    request:token(3, size)
    request:token(4, "T" .. lifetime)
    if command == mcp.CMD_CAS then
        request:token(6, "C" .. cas)
    end
    if quiet then
        request:token(count, "q")
    end
    request:token(1, "ms")
    request:token(5, "F" .. flags .. " M" .. (modes[command] or "S") .. " E" .. stamp())
    local answer = pass(rctx, copies, request, command == mcp.CMD_ADD)
    local code = answer:ok() and answer:code()
    return not (quiet and code == mcp.MCMC_CODE_OK) and words[code] or answer
end

local function arithmetic(rctx, copies, request, quiet)
    local delta, mode = request:token_int(3), request:command() == mcp.CMD_INCR and "I" or "D"
    if not delta or delta < 0 or request:ntokens() ~= (quiet and 4 or 3) then
        return (pass(rctx, copies, request))
    end
    local number = stamp()
    request:token(1, "ma")
    if quiet then
        request:token(4, "q")
    end
    request:token(3, "D" .. delta .. " v M" .. mode .. " E" .. number)
    local answer, says = pass(rctx, copies, request, false, number)
    if says == ABSENT then
        return "NOT_FOUND\r\n"
    end
    return not quiet and answer:ok() and answer:raw_string():match("\r\n(.*)") or answer
end

-- numbered gives a meta command a CAS number, unless the client has given one or the command would be too long. It returns the number.
local function numbered(request)
    local has, number = request:flag_token("E")
    if has or request:ntokens() == MOST_TOKENS then
        return number
    end
    number = stamp()
    request:token(1, request:raw_line():sub(1, 2)) -- this ends the line as flag_add expects it
    return request:flag_add("E", number) and number
end

local function meta_get(rctx, copies, request)
    local makes, touches = request:has_flag("N"), request:has_flag("T")
    if not makes and not touches then
        return read_all(rctx, copies, request)
    elseif makes then
        numbered(request)
    end
    local answer, says = pass(rctx, copies, request, false, nil, not touches)
    return says > ERROR and answer or miss(rctx, copies, request)
end

local function meta_write(rctx, copies, request)
    local command, number, _, mode = request:command(), numbered(request), request:flag_token("M")
    return (pass(rctx, copies, request, command == mcp.CMD_MS and mode and mode:sub(1, 1) == "E", command == mcp.CMD_MA and number))
end

local by_command = {
    [mcp.CMD_GET] = read_all, [mcp.CMD_GETS] = read_all, [mcp.CMD_ME] = read, [mcp.CMD_MG] = meta_get,
    [mcp.CMD_SET] = store, [mcp.CMD_ADD] = store, [mcp.CMD_REPLACE] = store, [mcp.CMD_APPEND] = store, [mcp.CMD_PREPEND] = store,
    [mcp.CMD_CAS] = store, [mcp.CMD_INCR] = arithmetic, [mcp.CMD_DECR] = arithmetic,
    [mcp.CMD_MS] = meta_write, [mcp.CMD_MA] = meta_write, [mcp.CMD_MD] = meta_write,
}

-- quiet_twice reports whether a meta command has more than one flag q.
local function quiet_twice(request)
    local flags = request:raw_line():match("^[^ ]+ +[^ ]+(.*)$") or ""
    local first = flags:find(" q", 1, true)
    return first and flags:find(" q", first + 1, true)
end

-- is_refused reports whether proxy and node would read a request differently, or whether the node would certainly refuse it. A proxy
-- sends the requests of all clients over few connections. If a node did not answer one of them, or answered it twice, clients would get
-- the answers to others' requests. If a node refuses one, memcached closes the connection, and the requests of others fail.
local function is_refused(request)
    if request:ntokens() > MOST_TOKENS or #request:key() > LONGEST_KEY then
        return true
    elseif not request:has_flag("q") then
        return false
    end
    local _, argument = request:flag_token("q")
    return argument or quiet_twice(request)
end

-- checked returns a function that answers a request as "route" does, unless is_refused. A client that says noreply awaits no answer, not
-- even an error. memcached sends nothing for a quiet miss in the proxy's own storage.
local function checked(rctx, internal, route)
    return function(request)
        local line, answer = request:raw_line(), REFUSAL
        local quiet = line:sub(3, 3) ~= " " and line:find(" noreply? *$")
        if not is_refused(request) then
            answer = route(request, quiet)
        end
        if quiet and (type(answer) == "string" or not answer:ok()) then
            return rctx:enqueue_and_wait(mcp.request("mg nothing q\r\n"), internal)
        end
        return answer
    end
end

register_route_handlers({ "copies", "reads", "others" })

-- route_copies{ children = { POOL, POOL... } }
function route_copies_conf(t, ctx)
    t.missed, t.found = {}, {}
    for i = 1, #t.children do
        t.missed[i] = ctx:get_stats_id("missed_writes_" .. i)
        t.found[i] = i > 1 and ctx:get_stats_id("found_in_copy_" .. i)
    end
    t.child_internal = "internal"
    return t
end

function route_copies_start(t, ctx, fgen)
    local copies = { found = t.found }
    -- A request can use each handle only once. memcached sends what is enqueued together in the order of the handles, and ends a wait too
    -- early if a handle that nothing waits for is before it.
    for _, name in ipairs({ "before", "ask", "after", "repair", "spare" }) do
        copies[name] = {}
        for i, pool in ipairs(t.children) do
            copies[name][i] = fgen:new_handle(pool)
        end
    end
    copies.internal = fgen:new_handle(t.child_internal)
    local function route(rctx)
        for i, handle in ipairs(copies.spare) do
            rctx:handle_set_cb(handle, function(answer, request)
                if request:command() == mcp.CMD_MG then
                    samples = samples - 1
                elseif weight(answer) <= ERROR then
                    mcp.stat(t.missed[i], 1)
                end
            end)
        end
        return checked(rctx, copies.internal, function(request, quiet)
            local answer = by_command[request:command()]
            return answer and answer(rctx, copies, request, quiet) or (pass(rctx, copies, request))
        end)
    end
    fgen:ready({ n = ctx:label(), f = route })
end

-- route_reads{ child = POOL } is for get, gets and mg. route_others{ child = POOL } is for all other commands.
local function route_of(answer)
    return function(t, ctx, fgen)
        local copies = { ask = { fgen:new_handle(t.child) }, internal = fgen:new_handle(t.child_internal) }
        local function route(rctx)
            return checked(rctx, copies.internal, function(request)
                return (answer(rctx, copies, request))
            end)
        end
        fgen:ready({ n = ctx:label(), f = route })
    end
end

function route_reads_conf(t)
    t.child_internal = "internal"
    return t
end
route_others_conf = route_reads_conf

route_reads_start = route_of(read)
route_others_start = route_of(function(rctx, copies, request)
    return rctx:enqueue_and_wait(request, copies.ask[1])
end)

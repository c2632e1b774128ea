-- | Search a tree for a file name in five ways: walks WAY NAME ROOT. The first match ends it.
-- Directories that cannot be read end it as well, with an error.
module Main (main) where

import Control.Concurrent (getNumCapabilities)
import Control.Concurrent.Async (mapConcurrently_, wait, withAsync)
import Control.Concurrent.MVar (modifyMVar, modifyMVar_, newMVar)
import Control.Exception (finally)
import Control.Monad (filterM, when)
import Control.Monad.IO.Class (liftIO)
import Control.Monad.Par.Class (get, spawn_)
import Control.Monad.Par.IO (ParIO, runParIO)
import Data.IORef
import Data.Maybe (isJust)
import System.Directory (doesDirectoryExist, listDirectory)
import System.Environment (getArgs)
import System.FilePath ((</>))

data Search = Search {wanted :: String, found :: IORef (Maybe FilePath)}

-- | Looks through one directory; those in it, or none once somebody has found what was wanted.
enter :: Search -> FilePath -> IO [FilePath]
enter search directory = do
  done <- isJust <$> readIORef (found search)
  if done
    then return []
    else do
      names <- listDirectory directory
      when (wanted search `elem` names) $
        atomicWriteIORef (found search) (Just (directory </> wanted search))
      filterM doesDirectoryExist (map (directory </>) names)

sequential :: Search -> FilePath -> IO ()
sequential search directory = enter search directory >>= mapM_ (sequential search)

perDirectory :: Search -> FilePath -> IO ()
perDirectory search directory = enter search directory >>= mapConcurrently_ (perDirectory search)

-- | A number of slots that nobody waits for.
data Slots = Slots {take_ :: IO Bool, give :: IO ()}

-- | A free slot: a new task. None: on with it in this task.
bounded :: Slots -> Search -> FilePath -> IO ()
bounded slots search directory = enter search directory >>= go
  where
    go [] = return ()
    go (next : rest) = do
      free <- take_ slots
      if free
        then withAsync (bounded slots search next `finally` give slots) $ \task -> go rest >> wait task
        else bounded slots search next >> go rest

locked :: Int -> IO Slots
locked many = do
  left <- newMVar many
  return
    Slots
      { take_ = modifyMVar left $ \n -> return (if n > 0 then (n - 1, True) else (n, False)),
        give = modifyMVar_ left (return . (+ 1))
      }

atomic :: Int -> IO Slots
atomic many = do
  left <- newIORef many
  return
    Slots
      { take_ = atomicModifyIORef' left $ \n -> if n > 0 then (n - 1, True) else (n, False),
        give = atomicModifyIORef' left $ \n -> (n + 1, ())
      }

stealing :: Search -> FilePath -> ParIO ()
stealing search directory = do
  below <- liftIO (enter search directory)
  tasks <- mapM (spawn_ . stealing search) below
  mapM_ get tasks

main :: IO ()
main = do
  [way, name, root] <- getArgs
  search <- Search name <$> newIORef Nothing
  cores <- getNumCapabilities
  let many = if cores == 1 then 0 else 4 * cores
  case way of
    "sequential" -> sequential search root
    "per-directory" -> perDirectory search root
    "semaphore" -> locked many >>= \slots -> bounded slots search root
    "atomic" -> atomic many >>= \slots -> bounded slots search root
    "stealing" -> runParIO (stealing search root)
    _ -> fail "no such way"
  readIORef (found search) >>= mapM_ putStrLn
